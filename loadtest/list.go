package main

import (
	"context"
	"errors"
	"io"

	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

type listFlags struct {
	Names []string `arg:"" optional:"" name:"name" help:"Print the expectations of these scenarios and rungs, or all."`
	Width *int     `placeholder:"N" help:"Wrap lines at N columns. Default: the terminal's width; elsewhere never."`
}

// run prints the scenarios, or the expectations of those that are named.
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
	names := f.Names
	if len(names) == 1 && names[0] == "all" {
		names = nil
	}
	scenarios, err := scenario.Table.Part(names)
	if err != nil {
		return complain(stderr, err)
	}
	if len(f.Names) == 0 {
		terminal.ListScenarios(stdout, scenarios, width)
		return asExpected
	}
	terminal.List(stdout, scenarios, width)
	return asExpected
}
