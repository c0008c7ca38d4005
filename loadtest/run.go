package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// run runs the selected cells, and returns the exit code. Without a selection these are the cells of the first run.
func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	if err := f.check(); err != nil {
		return complain(stderr, err)
	}
	scenarios, rungs := f.Scenarios, f.Rungs
	for _, name := range f.Names {
		s, r, err := scenario.Table.Sort([]string{name})
		if err != nil {
			return complain(stderr, proposed(name, err))
		}
		scenarios, rungs = append(scenarios, s...), append(rungs, r...)
	}
	first := !f.all && len(scenarios) == 0 && len(rungs) == 0
	if first {
		scenarios, rungs = scenario.Table.First()
	}
	specs, err := scenario.Table.Select(scenarios, rungs, f.Instances, f.Repeat)
	if err != nil {
		return complain(stderr, err)
	}
	if err := f.preflight(specs); err != nil {
		return complain(stderr, err)
	}
	if err := f.openOut(stderr); err != nil {
		return complain(stderr, err)
	}
	predicted, err := f.predict(ctx, specs, os.Stdin, stderr)
	if err != nil {
		return complain(stderr, err)
	}
	shown := terminal.NewProgress(stderr, terminal.Of(stderr))
	session, err := f.measure(ctx, specs, shown, stdout)
	shown.Clear()
	code := f.finish(session.history, err, session.keysLeft(err), first, stdout, stderr)
	printScore(stdout, predicted, session.history.Cells)
	return code
}

var errInterrupted = errors.New("interrupted")

// finish prints and writes the results, and returns the exit code. err is why some cells were not measured, keysLeft
// why keys may be left on servers that outlive the run; first is true without a selection of cells.
func (f *runFlags) finish(run *history.Run, err, keysLeft error, first bool, stdout, stderr io.Writer) int {
	rows := scenario.Table.Assess(run.Cells)
	ran := 0
	for _, r := range rows {
		ran += r.Ran()
	}
	p, good, o := terminal.NewPrinter(stdout), true, terminal.Run{
		Rows: rows, Interrupted: err != nil, Selected: run.Selected, Verbose: f.Verbose, First: first, Out: f.Out,
	}
	var unwritten error
	if len(rows) > 0 {
		p.Results(o)
		if f.Out != "" {
			unwritten = report.WriteAll(f.Out, run, rows)
		}
		if unwritten != nil {
			o.Out = ""
		}
		good = p.End(o)
	}
	var code int
	switch {
	case errors.Is(err, errInterrupted) && len(rows) > 0: // reported with the results
		code = couldNotRun
	case err != nil:
		measured := len(run.Cells)
		code = complain(stderr, fmt.Errorf("%w, with %d of %d cells measured", err, measured, run.Selected))
	case ran == 0:
		code = complain(stderr, errors.New("none of the cells could be run"))
	default:
		code = codeOf(rows, good)
	}
	if keysLeft != nil {
		complain(stderr, fmt.Errorf("keys may be left on the backend: %w", keysLeft))
	}
	if unwritten != nil {
		return complain(stderr, unwritten)
	}
	return code
}

// defaultOut is the default of --out. Tests set it to "", to write nothing.
var defaultOut = "out"

// openOut sets the directory of the run. If the default cannot be written, it warns, and the run goes on.
func (f *runFlags) openOut(stderr io.Writer) error {
	asked := f.Out != ""
	if !asked && !f.NoOut {
		f.Out = defaultOut
	}
	err := checkOut(f.Out)
	if err == nil || asked {
		return err
	}
	f.Out = ""
	fmt.Fprintf(stderr, "this run is not kept: %v\n", errors.Unwrap(err))
	return nil
}

// checkOut returns an error, before a run and not after it, if its results cannot be written.
func checkOut(dir string) error {
	if dir == "" {
		return nil
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = writable(dir)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".loadtest-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
