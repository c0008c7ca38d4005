package main

import (
	"fmt"
	"io"

	"stockapi/internal/lock"
)

// runSource prints the code of a rung, for users of a binary without the source.
func runSource(args []string, stdout io.Writer) error {
	const about = "Prints the Go code of a rung without its comments."
	var of struct {
		Rung string `arg:"" help:"The rung, such as v4."`
	}
	if ok, err := parse(&of, "stockapi source", about, args, stdout); !ok {
		return err
	}
	rung, err := lock.Find(of.Rung)
	if err != nil {
		return fmt.Errorf("%w: %w", err, errUsage)
	}
	_, err = io.WriteString(stdout, rung.Source())
	return err
}
