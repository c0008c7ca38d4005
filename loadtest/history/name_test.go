package history_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// The results of a run are found by their plain name and by that of their directory, however large they are.
func TestResultsAreFoundUnderTheirPlainName(t *testing.T) {
	for _, name := range history.Names(history.Results) {
		dir := t.TempDir()
		require.NoError(t, history.Write(filepath.Join(dir, name), sample()))
		for _, path := range []string{dir, filepath.Join(dir, name), filepath.Join(dir, history.Results)} {
			run, err := history.Read(path)
			require.NoError(t, err, path)
			assert.Equal(t, sample(), run)
		}
	}
}

func TestADirectoryWithoutResultsOrWithSeveralIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := history.Read(dir)
	require.ErrorContains(t, err, "holds no results.json")
	_, err = history.Read(filepath.Join(dir, history.Results))
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, name := range history.Names(history.Results) {
		require.NoError(t, history.Write(filepath.Join(dir, name), sample()))
	}
	_, err = history.Read(dir)
	require.ErrorContains(t, err, "several runs: name one of ")
	_, err = history.Read(filepath.Join(dir, history.Results))
	require.NoError(t, err)
}
