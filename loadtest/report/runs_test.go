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

// The address of the last run stays the same, a few before it are kept, and what others put there stays.
func TestRunsAreKept(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	count := func(pattern string) int {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		return len(found)
	}
	write("mine.txt", "")
	write("runs/notes/report.html", "")
	for i := range keptRuns + 3 {
		require.NoError(t, SetAside(dir))
		for _, name := range []string{history.Results, matrixFile, pageFile, "porcupine/pause-v4.html"} {
			write(name, fmt.Sprint(i))
		}
		ended := time.Now().Add(time.Duration(i) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, history.Results), ended, ended))
		if i == 1 {
			require.NoError(t, SetAside(dir))
			write("runs/"+ended.UTC().Format(runTime)+"/mine.txt", "")
		}
	}
	assert.Equal(t, keptRuns, count("runs/*/porcupine/pause-v4.html"))
	assert.Equal(t, keptRuns+1, count("runs/*/report.html"), "with the stranger's")
	assert.Equal(t, 1, count("mine.txt")+count("runs/*/mine.txt")-1)
	last, err := os.ReadFile(filepath.Join(dir, pageFile))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(keptRuns+2), string(last))

	dir = t.TempDir() // a class that ended before any verdict
	write(StageLog, "")
	require.NoError(t, SetAside(dir))
	assert.Equal(t, 1, count("runs/*/"+StageLog))
}

// Two runs that end at once in one directory leave the files of both, those of each together. What one left that was
// killed as it wrote goes.
func TestRunsThatEndAtOnce(t *testing.T) {
	dir := t.TempDir()
	killed, earlier := filepath.Join(dir, ".loadtest-1"), time.Now().Add(-2*time.Hour)
	require.NoError(t, os.MkdirAll(filepath.Join(killed, porcupineDir), 0o755))
	require.NoError(t, os.Chtimes(killed, earlier, earlier))
	var all sync.WaitGroup
	for i := range keptRuns {
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
	for _, name := range []string{matrixFile, pageFile} {
		kept, err := filepath.Glob(filepath.Join(dir, runsDir, "*", name))
		require.NoError(t, err)
		assert.Len(t, kept, keptRuns-1, name)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
