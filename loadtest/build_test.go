package main

import (
	"bytes"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionIsPrintedAndRecorded(t *testing.T) {
	var out, complaints bytes.Buffer
	assert.Equal(t, asExpected, execute(t.Context(), []string{"--version"}, &out, &complaints))
	assert.Regexp(t, `^loadtest \S+, `+runtime.Version()+`, `+runtime.GOOS+`/`+runtime.GOARCH+"\n$",
		out.String())
	assert.Empty(t, complaints.String())
	assert.Equal(t, thisBuild(), (&runFlags{}).newHistory().Loadtest)
}

func TestVersionOfTheModule(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}}
	assert.Equal(t, "loadtest v1.2.3, go1.26.0, "+platform(), versionOf(info))
	assert.Equal(t, "loadtest (devel), go1.26.0, "+platform(), versionOf(&debug.BuildInfo{GoVersion: "go1.26.0"}))
	assert.Contains(t, versionOf(nil), platform())
}

// The code is written twice, since loadtest shares none with the service.
func TestVersionIsThatOfStockapi(t *testing.T) {
	code := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return regexp.MustCompile(`(?m)^//.*\n`).ReplaceAllString(string(text), "")
	}
	assert.Equal(t, strings.ReplaceAll(code("../cmd/stockapi/build.go"), `"stockapi`, `"loadtest`), code("build.go"))
}
