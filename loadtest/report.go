package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
)

// reportFlags are the flags of the command report.
type reportFlags struct {
	File   string `arg:"" help:"File or directory of a run: out."`
	Output string `short:"o" placeholder:"FILE" help:"Write to FILE. Default: beside the file, or in the directory."`
}

// run writes the report of a file. It judges the cells again, as audit does.
func (f *reportFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	return untilEnd(ctx, stderr, func() int { return f.write(stdout, stderr) })
}

func (f *reportFlags) write(stdout, stderr io.Writer) int {
	to := cmp.Or(f.Output, beside(f.File))
	return again(f.File, stdout, stderr, func(run *history.Run, rows []*catalog.Row) error {
		if err := report.WritePage(run, rows, to); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "wrote %s\n", to)
		return nil
	})
}

// beside returns the default name of the report of a file or directory.
func beside(file string) string {
	if fi, err := os.Stat(file); err == nil && fi.IsDir() {
		return filepath.Join(file, "report.html")
	}
	return strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".jsonl") + ".html"
}
