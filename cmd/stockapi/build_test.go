package main

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuildIsNamedByTheVersionOfTheModule(t *testing.T) {
	commit := "v0.0.0-20261127012844-91fd240cb04c+dirty"
	for want, info := range map[string]*debug.BuildInfo{
		"unknown":          nil,
		"v1.2.3 go1.26":    {GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}},
		commit + " go1.26": {GoVersion: "go1.26", Path: "/home/somebody/stockapi", Main: debug.Module{Version: commit}},
		"(devel) go1.26":   {GoVersion: "go1.26"},
	} {
		assert.Equal(t, want, buildOf(info))
	}
}

func TestVersionIsPrintedAndNothingStarted(t *testing.T) {
	t.Setenv("STOCKAPI_VERSION", "7") // an image may set it: it is no flag
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--version"}, strings.NewReader(""), &out, &out))
	assert.Regexp(t, `^stockapi \S+, `+runtime.Version()+", "+platform()+"\n$", out.String())
}

func TestInstanceSaysWhichBuildItIs(t *testing.T) {
	in := start(t, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")
	assert.Equal(t, thisBuild(), in.do(t, "GET", "/rungs", nil).body["build"])
}
