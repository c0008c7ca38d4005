// Package redisson holds the sources of the contender that runs on the JVM.
package redisson

import "embed"

// Sources is a Maven project. Its class bench.Worker speaks the protocol of package worker.
//
//go:embed pom.xml src
var Sources embed.FS
