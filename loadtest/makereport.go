package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
)

// run makes the report of a file again.
func (f *reportFlags) run(stdout, stderr io.Writer) int {
	to := f.Output
	if to == "" {
		to = strings.TrimSuffix(f.File, ".json") + ".html"
	}
	differ, err := makeReport(f.File, to)
	if err != nil {
		return complain(stderr, err)
	}
	fmt.Fprintf(stdout, "wrote %s\n", to)
	for _, d := range differ {
		fmt.Fprintf(stdout, "the file's own verdict differs: %s\n", d)
	}
	if len(differ) > 0 {
		return surprised
	}
	return asExpected
}

// makeReport makes a report, and Porcupine's windows beside it, from a file that --json wrote and from nothing else, so
// that the same file makes the same report at any time. As in an audit, the verdicts are judged again.
func makeReport(from, to string) (differ []string, err error) {
	run, err := history.Read(from)
	if err != nil {
		return nil, err
	}
	for _, c := range run.Cells {
		differ = append(differ, rejudge(c)...)
	}
	windows, err := writeWindows(run, to)
	return differ, errors.Join(err, history.WriteFile(to, func(w io.Writer) error { return html.Write(w, run, windows) }))
}
