package shop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/rig"
)

func TestNumberFromShell(t *testing.T) {
	t.Parallel()
	trial := withShell(t)
	n, err := trial.numberFrom(t.Context(), "echo; echo ' 7 '")
	require.NoError(t, err)
	assert.EqualValues(t, 7, n)
	for line, wrong := range map[string]string{
		"echo seven":                           `it printed "seven", not a number`,
		"echo 7; echo 8":                       `it printed "7 8", not a number`,
		"echo hint >&2; echo gone >&2; exit 3": "exit status 3; last output: gone",
	} {
		_, err := trial.numberFrom(t.Context(), line)
		assert.ErrorContains(t, err, wrong, line)
	}
}

// A write in flight arrives between two readings.
func TestNumberSettles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "n")
	require.NoError(t, os.WriteFile(file, []byte("0\n"), 0o600))
	n, err := withShell(t).settledNumber(t.Context(),
		"read n <"+file+"; n=$((n+1)); echo $n >"+file+"; [ $n -gt 3 ] && n=3; echo $n")
	require.NoError(t, err)
	assert.EqualValues(t, 3, n)
}

// withShell returns a shop that runs shell commands.
func withShell(t *testing.T) *Shop {
	t.Helper()
	bed, _, err := rig.OpenForeign(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bed.Close()) })
	return &Shop{Bed: bed}
}
