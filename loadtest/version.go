package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionLine returns the line of --version: version, commit, Go and platform. Unlike [thisBuild] it is for people: two
// builds of one commit for two platforms have one name.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "loadtest, build unknown, " + platform()
	}
	version, commit := info.Main.Version, revision(info.Settings)
	if version == "" {
		version = "(devel)"
	}
	if commit == "(devel)" {
		commit = "unknown"
	}
	return fmt.Sprintf("loadtest %s, commit %s, %s, %s", version, commit, info.GoVersion, platform())
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
