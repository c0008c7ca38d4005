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

// versionLine returns the line of --version: version, commit, Go and platform. Unlike [thisBuild] it is for people: two
// builds of one commit for two platforms have one name.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

// buildOf returns the version of the module, or else its revision, and the version of Go. It contains no paths.
// Stockapi has a copy of this file, since the two share no code.
func buildOf(info *debug.BuildInfo) string {
	if info == nil {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == devel {
		version = cmp.Or(revision(info), devel)
	}
	return version + " " + info.GoVersion
}

func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "loadtest, build unknown, " + platform()
	}
	return fmt.Sprintf("loadtest %s, commit %s, %s, %s", cmp.Or(info.Main.Version, devel),
		cmp.Or(revision(info), "unknown"), info.GoVersion, platform())
}

// devel is the version that Go gives a build whose version it does not know.
const devel = "(devel)"

// revision returns the commit that it was built from, with +dirty if files were changed since; empty if not known.
func revision(info *debug.BuildInfo) string {
	of := map[string]string{}
	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}
	id := of["vcs.revision"]
	id = id[:min(len(id), 12)]
	if id != "" && of["vcs.modified"] == "true" {
		id += "+dirty"
	}
	return id
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
