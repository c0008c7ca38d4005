package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSourceOfARungIsPrinted(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"source", "v3"}, strings.NewReader(""), &out, &out))
	assert.Contains(t, out.String(), "func ownerCheck(rt runtime) TryLock {\n")
	for _, args := range [][]string{{"source"}, {"source", "v99"}, {"source", "v3", "v4"}} {
		require.ErrorIs(t, run(t.Context(), args, strings.NewReader(""), &out, &out), errUsage, args)
	}
}
