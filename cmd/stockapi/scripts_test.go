package main

import (
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
