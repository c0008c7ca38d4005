package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/report/terminal"
)

const matrixFile, pageFile = "matrix.txt", "report.html"

// files are those that [WriteAll] writes to a directory.
var files = []string{history.Results, matrixFile, pageFile}

// WriteAll replaces the files of the last run in a directory: results.jsonl.gz, matrix.txt and report.html. If the
// first two cannot be written, there is no report. Another run may end in the same directory meanwhile, so the files
// are written to a temporary directory and then moved together.
func WriteAll(dir string, run *history.Run, rows []*catalog.Row) error {
	aside, err := os.MkdirTemp(dir, ".loadtest-*")
	if err != nil {
		return err
	}
	err = write(aside, run, rows)
	defer alone(dir)()
	removeOrphans(dir)
	return errors.Join(err, replace(aside, dir), os.RemoveAll(aside))
}

// alone takes the lock for moving files into the directory, and returns a function that releases it. A move takes
// milliseconds: a lock that is still there after a second was left by a killed run.
func alone(dir string) (free func()) {
	lock := filepath.Join(dir, ".loadtest-lock")
	for range 100 {
		if os.Mkdir(lock, 0o755) == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return func() { _ = os.Remove(lock) }
}

// removeOrphans removes the files of runs that were killed while writing. The files of a run that is still writing are
// younger.
func removeOrphans(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), ".loadtest-") &&
			time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// replace removes the files of the last run, and moves the new ones to their place. It leaves other files alone.
func replace(from, to string) error {
	for _, name := range files {
		_ = os.Remove(filepath.Join(to, name))
		err := os.Rename(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func write(dir string, run *history.Run, rows []*catalog.Row) error {
	err := history.Write(filepath.Join(dir, history.Results), run)
	matrix := history.WriteFile(filepath.Join(dir, matrixFile), func(w io.Writer) error {
		p := terminal.Printer{Writer: w}
		p.Header(run, terminal.AnyCrowd(rows))
		o := terminal.Run{Rows: rows, Interrupted: run.Interrupted != "", Selected: run.Selected, Verbose: true}
		p.Results(o)
		p.End(o)
		return nil
	})
	if err := errors.Join(err, matrix); err != nil {
		return err
	}
	return WritePage(run, rows, filepath.Join(dir, pageFile))
}

// Written reports whether a directory has the matrix and the page that WriteAll writes.
func Written(dir string) bool {
	for _, name := range []string{matrixFile, pageFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// WritePage writes the report of a run. It uses only what the run's file contains, so the same file always results in
// the same report.
func WritePage(run *history.Run, rows []*catalog.Row, to string) error {
	return history.WriteFile(to, func(w io.Writer) error { return html.Write(w, run, rows) })
}
