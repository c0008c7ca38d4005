package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// thisBuild returns the version of this executable.
func thisBuild() string {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// versionLine returns the line of --version: version, Go and platform. [thisBuild] has no platform: builds of one
// commit share a name.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// buildOf returns the version of the module, a tag or the commit, and the version of Go. It contains no paths. Stockapi
// has a copy of this file, since the two share no code.
func buildOf(info *debug.BuildInfo) string {
	if info == nil {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, devel) + " " + info.GoVersion
}

func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "loadtest, build unknown, " + platform()
	}
	return fmt.Sprintf("loadtest %s, %s, %s", cmp.Or(info.Main.Version, devel), info.GoVersion, platform())
}

// devel is the version that Go gives a build of unknown version.
const devel = "(devel)"

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
