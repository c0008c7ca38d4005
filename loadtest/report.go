package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/html"
)

// reportFlags are the flags of the command report.
type reportFlags struct {
	File   string `arg:"" help:"A run's file, or its directory, such as out."`
	Output string `short:"o" placeholder:"FILE" help:"Where to write the report. Default: beside the file, as .html, or report.html in the directory. Porcupine's pictures go to porcupine/ beside it."`
	SVG    string `name:"svg" placeholder:"FILE" help:"Draw the timeline of one cell instead of the report, as a self-contained SVG file."`
	Cell   string `placeholder:"CELL" help:"Which cell --svg draws, by scenario and rung, such as \"pause v4\". Default: the first one whose stock a fault broke."`
}

// run writes the report of a file or, with --svg, a picture of one of its cells. It judges the cells again, like audit.
func (f *reportFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	return untilEnd(ctx, stderr, func() int { return f.write(stdout, stderr) })
}

func (f *reportFlags) write(stdout, stderr io.Writer) int {
	to, write := f.Output, f.report
	switch {
	case f.SVG != "" && f.Output != "":
		return complain(stderr, errors.New("--svg draws a picture instead of the report: leave out --output, or --svg"))
	case f.SVG != "":
		to, write = f.SVG, f.picture
	case f.Cell != "":
		return complain(stderr, errors.New("--cell chooses the cell that --svg draws: add --svg FILE"))
	case to == "":
		to = beside(f.File)
	}
	return again(f.File, stdout, stderr, func(run *history.Run, rows []*catalog.Row) error {
		if err := write(run, rows, to); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "wrote %s\n", to)
		return nil
	})
}

func (f *reportFlags) report(run *history.Run, rows []*catalog.Row, to string) error {
	return report.WritePage(run, rows, to)
}

func (f *reportFlags) picture(_ *history.Run, rows []*catalog.Row, to string) error {
	r, err := pictured(rows, f.Cell)
	if err != nil {
		return err
	}
	return history.WriteFile(to, func(w io.Writer) error { return html.WritePicture(w, r) })
}

// pictured returns the row of the cell of that name. Without a name it returns the first one whose stock is broken and
// that had a fault.
func pictured(rows []*catalog.Row, name string) (*catalog.Row, error) {
	var names []string
	for _, r := range rows {
		c, title := r.Shown(), r.Scenario.Name+" "+r.Rung
		if len(c.Ops) == 0 {
			continue
		}
		names = append(names, title)
		called := strings.EqualFold(name, title) || strings.EqualFold(name, r.Scenario.Name+" "+r.Name)
		lesson := c.Finding(history.Stock).Result == history.Broken && len(c.Faults) > 0
		if called || name == "" && lesson {
			return r, nil
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("no cell of the file has orders to draw: use the file of a run that was not cut short")
	case name == "":
		return nil, fmt.Errorf("no cell's stock was broken by a fault: choose a cell with --cell, %s", listFew(names))
	}
	if near := catalog.DidYouMean(name, names); near != "" {
		return nil, fmt.Errorf("--cell: there is no cell %q with orders to draw%s", name, near)
	}
	return nil, fmt.Errorf("--cell: there is no cell %q with orders to draw: choose %s", name, listFew(names))
}

// listFew names some of the cells that can be chosen.
func listFew(names []string) string {
	const few = 8
	text := `"` + strings.Join(names[:min(len(names), few)], `", "`) + `"`
	if len(names) > few {
		return fmt.Sprintf("%s or one of %d others", text, len(names)-few)
	}
	return text
}

// beside returns the default name of the report of a file, or of a directory with results.
func beside(file string) string {
	if fi, err := os.Stat(file); err == nil && fi.IsDir() {
		return filepath.Join(file, "report.html")
	}
	return strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".jsonl") + ".html"
}
