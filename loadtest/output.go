package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mattn/go-isatty"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
)

// finish reports and writes what was measured, and returns the exit code. err is why there is not more of it.
func (s *session) finish(err error, stderr io.Writer) int {
	if err == nil {
		err = s.spool.Err()
	}
	if err != nil {
		s.history.Interrupted = err.Error()
	}
	rows := catalog.Assess(s.history.Cells)
	ran := 0
	for _, r := range rows {
		ran += r.Ran()
	}
	good := true
	if len(rows) > 0 {
		good = tell(s.stdout, rows, colourful(s.stdout))
	}
	var code int
	switch {
	case err != nil:
		code = complain(stderr, fmt.Errorf("%w, with %d of %d cells measured", err, len(s.history.Cells), len(s.specs)))
	case ran == 0:
		code = complain(stderr, errors.New("none of the cells could be run"))
	default:
		code = codeOf(rows, good)
	}
	if s.swept != nil && (err == nil || s.flags.outlasted()) {
		complain(stderr, fmt.Errorf("keys may be left on the backend: %w", s.swept))
	}
	if err := s.write(rows); err != nil {
		return complain(stderr, err)
	}
	return code
}

// codeOf is the exit code of rows that were run. A surprise is more than a cell that is not valid: that says nothing.
func codeOf(rows []*catalog.Row, good bool) int {
	switch {
	case !good:
		return surprised
	case !catalog.AllValid(rows):
		return couldNotRun
	}
	return asExpected
}

// outlasted reports whether the run uses anything that is still there after it. Servers of its own go when it ends, with
// all that they hold.
func (f *runFlags) outlasted() bool {
	isURL := func(s string) bool { return strings.Contains(s, "://") }
	return len(f.Targets) > 0 || isURL(f.Backend) || isURL(f.SQL) || f.ZooKeeper != ""
}

// tell prints the stories, how soon requests got through, the matrix and the last line: what a terminal still shows at the end is the matrix.
func tell(w io.Writer, rows []*catalog.Row, colour bool) (asExpected bool) {
	report.Stories(w, rows)
	report.Recoveries(w, rows)
	report.Matrix(w, rows, colour)
	return report.Summary(w, rows)
}

// write writes the files that were asked for, if there is anything to write.
func (s *session) write(rows []*catalog.Row) error {
	if len(rows) == 0 {
		return nil
	}
	var errs []error
	if s.flags.JSON != "" {
		errs = append(errs, history.Write(s.flags.JSON, s.history))
	}
	if dir := s.flags.Out; dir != "" {
		errs = append(errs, writeResults(dir, s.history))
		errs = append(errs, history.WriteFile(filepath.Join(dir, "matrix.txt"), func(w io.Writer) error {
			report.Header(w, s.history)
			tell(w, rows, false)
			return nil
		}))
		if errors.Join(errs...) == nil {
			errs = append(errs, makeReport(s.history, filepath.Join(dir, "report.html")))
		}
	}
	return errors.Join(errs...)
}

// writeResults writes the run's file, and removes that of a run before it which has another name.
func writeResults(dir string, run *history.Run) error {
	const small = "results.json"
	name := history.Name(small, run)
	if err := history.Write(filepath.Join(dir, name), run); err != nil {
		return err
	}
	other := small
	if name == small {
		other = history.LargeName(small)
	}
	if err := os.Remove(filepath.Join(dir, other)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkOutputs finds out before the run, not after it, whether its results can be written.
func (f *runFlags) checkOutputs() error {
	if f.JSON != "" {
		if err := writable(filepath.Dir(f.JSON)); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if f.Out != "" {
		if err := os.MkdirAll(f.Out, 0o755); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		if err := writable(f.Out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".loadtest-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// colourful follows https://no-color.org.
func colourful(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
