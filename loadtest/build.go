package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// thisBuild returns the version of this executable. See buildOf.
func thisBuild() string {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// versionLine returns the line of --version: version, Go and platform. Unlike [thisBuild] it is for people: two builds
// of one commit for two platforms have one name.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// buildOf returns the version of the module, which names the commit unless it is a tag's, and the version of Go. It
// contains no paths. Stockapi has a copy of this file, since the two share no code.
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

// devel is the version that Go gives a build whose version it does not know.
const devel = "(devel)"

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
