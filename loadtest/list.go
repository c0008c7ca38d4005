package main

import (
	"context"
	"errors"
	"io"

	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

type listFlags struct {
	Names []string `arg:"" optional:"" name:"name" help:"Only these scenarios and rungs, rungs by number or by name."`
	Width *int     `placeholder:"N" help:"Make no line wider than N columns. Default: as wide as the terminal; elsewhere lines are not wrapped."`
}

// run prints the table of expectations.
func (f *listFlags) run(_ context.Context, stdout, stderr io.Writer) int {
	width := 0
	if t := terminal.Of(stdout); t != nil {
		width, _ = t.Size()
	}
	if f.Width != nil {
		width = *f.Width
		if width < 40 || width > 1000 {
			return complain(stderr, errors.New("--width must lie between 40 and 1000"))
		}
	}
	scenarios, err := scenario.Table.Part(f.Names)
	if err != nil {
		return complain(stderr, err)
	}
	terminal.List(stdout, scenarios, width)
	return asExpected
}
