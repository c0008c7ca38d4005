package main

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuildIsNamedByVersionOrRevision(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "91fd240cb04c5bff44e1fc2a3756240de04ee6b5"}}
	dirty := slices.Concat(revision, []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}})
	for want, info := range map[string]*debug.BuildInfo{
		"unknown":                   nil,
		"v1.2.3 go1.26":             {GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}, Settings: dirty},
		"91fd240cb04c go1.26":       {GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}, Settings: revision},
		"91fd240cb04c+dirty go1.26": {GoVersion: "go1.26", Path: "/home/somebody/stockapi", Settings: dirty},
		"(devel) go1.26":            {GoVersion: "go1.26"},
	} {
		assert.Equal(t, want, buildOf(info))
	}
}

func TestVersionIsPrintedAndNothingStarted(t *testing.T) {
	t.Setenv("STOCKAPI_VERSION", "7") // somebody's image may have it: it asks for nothing
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--version"}, strings.NewReader(""), &out, &out))
	assert.Regexp(t, `^stockapi \S+, commit \S+, `+runtime.Version()+", "+platform()+"\n$", out.String())
}

func TestInstanceSaysWhichBuildItIs(t *testing.T) {
	in := start(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")
	assert.Equal(t, thisBuild(), in.do(t, "GET", "/rungs", nil).body["build"])
}
