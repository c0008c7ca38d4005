package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A full is a writer to a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestUnwritableOutputExits2(t *testing.T) {
	answers := filepath.Join(t.TempDir(), "answers.jsonl")
	require.NoError(t, os.WriteFile(answers, []byte(receipt("x", "a", 1, 0, 1)), 0o600))
	for _, args := range []string{
		"--help", "--version", "list", "list v4 pause", "audit --answers --stock 1 " + answers,
	} {
		var errs strings.Builder
		assert.Equal(t, couldNotRun, execute(t.Context(), strings.Fields(args), full{}, &errs), args)
		assert.Equal(t, "loadtest: cannot print the result: no space left on device; "+
			"redirect it to a file that can be written\n", errs.String(), args)
	}
}
