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

// codeOf returns the exit code of rows. A surprise outranks a cell that was not measured.
func codeOf(rows []*catalog.Row, good bool) int {
	switch {
	case !good:
		return surprised
	case !catalog.AllMeasured(rows):
		return couldNotRun
	}
	return asExpected
}

// complain prints err on one line, and returns the exit code.
func complain(stderr io.Writer, err error) int {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	fmt.Fprintln(stderr, "loadtest: "+history.Plain(strings.Join(lines, "; ")))
	return couldNotRun
}
