package main

import (
	"runtime/debug"
	"slices"
)

// thisBuild names the build of this executable: see buildOf.
func thisBuild() string {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// buildOf returns the version of the module, or else the revision that it was built from, with +dirty if files had been
// changed since, and the version of Go. It says nothing of paths. Stockapi has the same function: the two share no
// code.
func buildOf(info *debug.BuildInfo) string {
	if info == nil {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = revision(info.Settings)
	}
	return version + " " + info.GoVersion
}

func revision(settings []debug.BuildSetting) string {
	of := func(key string) string {
		i := slices.IndexFunc(settings, func(s debug.BuildSetting) bool { return s.Key == key })
		if i < 0 {
			return ""
		}
		return settings[i].Value
	}
	id := of("vcs.revision")
	switch {
	case id == "":
		return "(devel)"
	case of("vcs.modified") == "true":
		return id[:min(len(id), 12)] + "+dirty"
	default:
		return id[:min(len(id), 12)]
	}
}
