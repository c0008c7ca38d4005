package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// A run replaces all files of the last one. Other files stay.
func TestWriteAllReplacesTheLastRun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{history.Results, matrixFile, pageFile, "mine.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("of the last run"), 0o600))
	}
	require.NoError(t, WriteAll(dir, &history.Run{ID: "run"}, nil))
	kept := map[string]bool{} // by name: whether it is unchanged
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		kept[e.Name()] = string(text) == "of the last run"
	}
	assert.Equal(t, map[string]bool{history.Results: false, matrixFile: false, pageFile: false, "mine.txt": true}, kept)
}

// Two runs that end in one directory at the same time leave the files of one of them. The files of a killed run are
// removed.
func TestWriteAllByConcurrentRuns(t *testing.T) {
	dir := t.TempDir()
	killed, earlier := filepath.Join(dir, ".loadtest-1"), time.Now().Add(-2*time.Hour)
	require.NoError(t, os.MkdirAll(killed, 0o755))
	require.NoError(t, os.Chtimes(killed, earlier, earlier))
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			assert.NoError(t, WriteAll(dir, &history.Run{ID: fmt.Sprint("run", i)}, nil))
		})
	}
	all.Wait()
	last, err := os.ReadFile(filepath.Join(dir, matrixFile))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(dir, pageFile))
	require.NoError(t, err)
	id := regexp.MustCompile(`run\d`)
	assert.Equal(t, id.FindString(string(last)), id.FindString(string(page)))
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
