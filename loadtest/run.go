package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/run"
	"stockapi/loadtest/scenario"
)

// run makes the run that the flags ask for, and returns the exit code. Unless they name rungs or scenarios, or all are
// asked for, it is the first run.
func (f *runFlags) run(ctx context.Context, all bool, stdout, stderr io.Writer) int {
	if err := f.check(); err != nil {
		return complain(stderr, err)
	}
	scenarios, rungs := f.Scenarios, f.Rungs
	first := !all && len(scenarios) == 0 && len(rungs) == 0
	if first {
		scenarios, rungs = scenario.Table.First()
	}
	specs, err := scenario.Table.Select(scenarios, rungs, f.Instances, f.Repeat)
	if err != nil {
		return complain(stderr, err)
	}
	if err := checkOut(f.Out); err != nil {
		return complain(stderr, err)
	}
	checked := f.settings(nil)
	if err := checked.Check(specs); err != nil {
		return complain(stderr, err)
	}
	spool := f.newSpool()
	defer func() { _ = spool.Close() }()
	shown := progress{terminal.NewProgress(stderr, terminal.Of(stderr)), stdout}
	defer shown.Close()
	result, err := run.Do(ctx, f.settings(spool), specs, shown)
	shown.Close()
	return f.finish(result, err, first, stdout, stderr)
}

// progress shows the progress of a run on stderr, and its header on stdout.
type progress struct {
	*terminal.Progress
	stdout io.Writer
}

// Begin prints the header.
func (p progress) Begin(run *history.Run, specs []catalog.Spec) {
	p.Clear()
	terminal.NewPrinter(p.stdout).Header(run)
	p.Expect(specs)
}

// newSpool makes the place for orders that are too many for memory: beside the results, if there are to be any.
func (f *runFlags) newSpool() *history.Spool {
	if f.Out != "" {
		return history.NewSpool(f.Out)
	}
	return history.NewSpool(os.TempDir())
}

// finish reports and writes what was measured, and returns the exit code. err says why not all of the cells were; first
// says that nobody chose them.
func (f *runFlags) finish(result run.Result, err error, first bool, stdout, stderr io.Writer) int {
	rows := scenario.Table.Assess(result.History.Cells)
	ran := 0
	for _, r := range rows {
		ran += r.Ran()
	}
	good := true
	if len(rows) > 0 {
		good = terminal.NewPrinter(stdout).Results(terminal.Outcome{
			Rows: rows, Interrupted: err != nil, Selected: result.History.Selected, Verbose: f.Verbose, First: first, Out: f.Out,
		})
	}
	var code int
	switch {
	case err != nil:
		measured := len(result.History.Cells)
		code = complain(stderr, fmt.Errorf("%w, with %d of %d cells measured", err, measured, result.History.Selected))
	case ran == 0:
		code = complain(stderr, errors.New("none of the cells could be run"))
	default:
		code = codeOf(rows, good)
	}
	if result.KeysLeft != nil {
		complain(stderr, fmt.Errorf("keys may be left on the backend: %w", result.KeysLeft))
	}
	if err := f.write(result.History, rows); err != nil {
		return complain(stderr, err)
	}
	return code
}

// write writes the files that were asked for, if there is anything to write.
func (f *runFlags) write(run *history.Run, rows []*catalog.Row) error {
	if len(rows) == 0 || f.Out == "" {
		return nil
	}
	return report.WriteAll(f.Out, run, rows)
}

// checkOut finds out before the run, not after it, whether its results can be written.
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
