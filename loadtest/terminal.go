package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"stockapi/loadtest/report"
)

// terminal returns the terminal that w is, nil if it is none.
func terminal(w io.Writer) *report.Terminal {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &report.Terminal{Colour: colourful(w), Size: func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}}
}
