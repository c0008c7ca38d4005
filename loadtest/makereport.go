package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/scenario"
)

// run makes the report of a file again. As in an audit, the verdicts are judged again.
func (f *reportFlags) run(stdout, stderr io.Writer) int {
	to := f.Output
	if to == "" {
		to = beside(f.File)
	}
	return again(f.File, stdout, stderr, func(run *history.Run, _ []*scenario.Row) error {
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

// makeReport writes the report of a run, and Porcupine's pages beside it. It uses the content of the run's file alone, so
// that the same file makes the same report at any time.
func makeReport(run *history.Run, to string) error {
	pages, err := writePorcupine(run, to)
	return errors.Join(err, history.WriteFile(to, func(w io.Writer) error { return html.Write(w, run, pages) }))
}
