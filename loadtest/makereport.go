package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

// run makes the report of a file again. As in an audit, the verdicts are judged again.
func (f *reportFlags) run(stdout, stderr io.Writer) int {
	to := f.Output
	if to == "" {
		to = beside(f.File)
	}
	return again(f.File, stdout, stderr, func(run *history.Run, _ []*catalog.Row) error {
		if err := makeReport(run, to); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "wrote %s\n", to)
		return nil
	})
}

// beside is the name of the report of a file.
func beside(file string) string {
	for _, ending := range []string{".gz", ".json", ".jsonl"} {
		file = strings.TrimSuffix(file, ending)
	}
	return file + ".html"
}

// makeReport makes a report of a run, and Porcupine's windows beside it, from what its file holds and from nothing else,
// so that the same file makes the same report at any time.
func makeReport(run *history.Run, to string) error {
	windows, err := writeWindows(run, to)
	return errors.Join(err, history.WriteFile(to, func(w io.Writer) error { return html.Write(w, run, windows) }))
}
