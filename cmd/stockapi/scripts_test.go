package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/trace"
)

func TestTheScriptsAreListed(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"scripts"}, strings.NewReader(""), &out, &out))
	assert.Regexp(t, `(?m)^[0-9a-f]{40} release-reentrant$`, out.String())
	assert.Regexp(t, `(?m)^[0-9a-f]{40} take$`, out.String())
	assert.Equal(t, len(trace.ScriptNames()), strings.Count(out.String(), "\n"))
	require.ErrorIs(t, run(t.Context(), []string{"scripts", "--bogus"}, strings.NewReader(""), &out, &out), errUsage)
}

// A full is a writer to a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestUnwritableOutputExits2(t *testing.T) {
	for _, args := range []string{"--help", "--version", "scripts", "scripts --help", "source v4"} {
		var errs strings.Builder
		err := run(t.Context(), strings.Fields(args), strings.NewReader(""), full{}, &errs)
		assert.Equal(t, 2, exitCode(&errs, err), args)
		assert.Equal(t, "stockapi: cannot print the result: no space left on device; "+
			"redirect it to a file that can be written\n", errs.String(), args)
	}
}
