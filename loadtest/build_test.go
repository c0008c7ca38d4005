package main

import (
	"bytes"
	"os"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionIsPrintedAndPartOfTheHistory(t *testing.T) {
	var out, complaints bytes.Buffer
	assert.Equal(t, asExpected, execute(t.Context(), []string{"--version"}, &out, &complaints))
	assert.Equal(t, thisBuild()+"\n", out.String())
	assert.Contains(t, out.String(), runtime.Version())
	assert.Empty(t, complaints.String())
	seed := uint64(1)
	assert.Equal(t, thisBuild(), (&runFlags{Seed: &seed}).settings(nil).Build)
}

// What names a build is written twice, since loadtest shares no code with the service.
func TestBothProgramsNameTheirBuildTheSameWay(t *testing.T) {
	code := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return regexp.MustCompile(`(?m)^//.*\n`).ReplaceAllString(string(text), "")
	}
	assert.Equal(t, code("../cmd/stockapi/build.go"), code("build.go"))
}
