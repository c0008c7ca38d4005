package main

import (
	"fmt"
	"io"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// The exit codes.
const (
	asExpected  = 0
	surprised   = 1
	couldNotRun = 2
)

// codeOf is the exit code of rows that were run. A surprise is more than a cell that was not measured: that says
// nothing.
func codeOf(rows []*catalog.Row, good bool) int {
	switch {
	case !good:
		return surprised
	case !catalog.AllMeasured(rows):
		return couldNotRun
	}
	return asExpected
}

// complain says in one line why it could not run.
func complain(stderr io.Writer, err error) int {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	fmt.Fprintln(stderr, "loadtest: "+history.Plain(strings.Join(lines, "; ")))
	return couldNotRun
}
