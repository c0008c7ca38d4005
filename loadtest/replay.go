package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/replay"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/schedule"
)

// replayFlags are the flags of the command replay.
type replayFlags struct {
	Trace   string   `arg:"" optional:"" help:"Trace to replay: v3:aaaa.expiry.ba."`
	File    string   `placeholder:"FILE" help:"Replay the traces of a file, and print a line for each: docs/explore.md."`
	Expect  []string `placeholder:"VERDICT" help:"Verdicts to break: stock, exclusion, own-release, liveness, fence."`
	Backend string   `enum:"redis-server,embedded,auto" default:"redis-server" help:"Redis to start: ${enum}."`
	Out     string   `placeholder:"DIR" help:"Write results.jsonl.gz, matrix.txt and report.html to DIR."`
}

// entries returns the traces to replay.
func (f *replayFlags) entries() ([]replay.Entry, error) {
	switch {
	case (f.Trace == "") == (f.File == ""):
		return nil, errors.New("name a trace, such as v3:aaaa.expiry.ba, or a file of traces with --file")
	case f.File != "" && len(f.Expect) > 0:
		return nil, errors.New("--expect is for one trace: the file declares what each of its traces breaks")
	case f.File != "":
		return replay.ReadList(f.File)
	}
	trace, err := schedule.ParseTrace(f.Trace)
	if err != nil {
		return nil, err
	}
	breaks, err := replay.ParseVerdicts(f.Expect)
	if err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	return []replay.Entry{{Trace: trace, Breaks: breaks}}, replay.Check(trace)
}

// run replays the traces, and returns the exit code.
func (f *replayFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	entries, err := f.entries()
	if err != nil {
		return complain(stderr, err)
	}
	if err := checkOut(f.Out); err != nil {
		return complain(stderr, err)
	}
	shown := terminal.NewProgress(stderr, terminal.Of(stderr))
	defer shown.Clear()
	environment, ctx, err := replay.Open(ctx,
		cluster.Options{Backend: f.Backend, Stockapi: theStockapi(), Say: shown.Say})
	if err != nil {
		return complain(stderr, err)
	}
	run := &history.Run{ID: "replay", Started: time.Now(), Loadtest: thisBuild(), Selected: len(entries),
		Machine: history.ThisMachine(), Backend: environment.Backend,
		Load: history.Load{Requests: 2, Concurrency: 2, Stock: replay.Stock, Wait: replay.Wait, Repeat: 1}}
	replays := replays{run: run, stdout: stdout, environment: environment}
	shown.Clear()
	var code int
	if f.File == "" {
		code, err = replays.one(ctx, entries[0])
	} else {
		code = replays.all(ctx, entries)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if errors.Is(err, context.Canceled) {
			err = errInterrupted
		}
	}
	err = errors.Join(err, environment.Close())
	if f.Out != "" {
		err = errors.Join(err, report.WriteAll(f.Out, run, scenario.Table.Assess(run.Cells)))
	}
	if err != nil {
		return complain(stderr, err)
	}
	return code
}

// replays are the replays of one command.
type replays struct {
	run         *history.Run
	stdout      io.Writer
	environment *replay.Environment
}

// one replays one trace, and prints its steps as they happen, then the verdicts.
func (r *replays) one(ctx context.Context, e replay.Entry) (code int, err error) {
	fmt.Fprintln(r.stdout, history.Plain(e.Trace.String()))
	cell, err := r.environment.Prove(ctx, e.Trace, e.Breaks, r.begin, r.step)
	if err != nil {
		return couldNotRun, err
	}
	cell.Breaks = e.Breaks
	r.run.Cells = append(r.run.Cells, cell)
	fmt.Fprintln(r.stdout)
	for i := range cell.Ops {
		op := &cell.Ops[i]
		if op.Phase == history.Buy {
			fmt.Fprintf(r.stdout, "%s: %s\n", op.Instance, ended(op))
		}
	}
	for _, f := range cell.Findings {
		if f.Verdict != history.Valid && f.Result != history.NotApplicable {
			line := fmt.Sprintf("%-12s %-8s %s", f.Verdict, f.Result, history.Plain(f.Because))
			fmt.Fprintln(r.stdout, strings.TrimSpace(line))
		}
	}
	missing := replay.Missing(cell, e.Breaks)
	switch {
	case len(missing) > 0:
		fmt.Fprintf(r.stdout, "NOT as expected: %v is not broken\n", missing)
		return surprised, nil
	case len(e.Breaks) > 0:
		fmt.Fprintf(r.stdout, "as expected: %s BROKEN\n", e.Verdicts())
	}
	return asExpected, nil
}

// begin prints the head of the columns, and before it why the trace is replayed again, if it is.
func (r *replays) begin(longer float64, because error) {
	switch {
	case because != nil:
		fmt.Fprintf(r.stdout, "%s; once more, with all times %g times as long\n", because, longer)
	case longer > 1:
		fmt.Fprintf(r.stdout, "not broken; once more, with all times %g times as long\n", longer)
	}
	printLine(r.stdout, "a", "b", "held in Redis", "time")
}

// step prints a step.
func (r *replays) step(l replay.Line) {
	columns := [2]string{}
	what := l.What
	if l.Who < 0 {
		what = "~ " + what
	}
	columns[min(max(l.Who, 0), 1)] = what
	printLine(r.stdout, columns[0], columns[1], l.Holds, fmt.Sprintf("+%.3f s", l.After.Seconds()))
}

// ended returns how an order ended.
func ended(op *history.Op) string {
	text := string(op.Outcome)
	if op.Outcome == history.Sold {
		return "sold unit " + strings.Trim(fmt.Sprint(op.Units), "[]")
	}
	if op.Detail != "" {
		text += ": " + history.Plain(op.Detail)
	}
	return text
}

// widths are the widths of the columns: fixed, since steps are printed as they happen.
var widths = [...]int{32, 32, 34, 0}

func printLine(w io.Writer, columns ...string) {
	var line strings.Builder
	for i, text := range columns {
		text = history.Plain(text)
		line.WriteString("  " + text + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))))
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}

// atOnce is how many traces of a list are replayed at a time: they mostly wait.
const atOnce = 6

// all replays the traces of a list, and prints a line for each.
func (r *replays) all(ctx context.Context, entries []replay.Entry) (code int) {
	type result struct {
		cell *history.Cell
		err  error
	}
	results := make([]chan result, len(entries))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range results {
		results[i] = make(chan result, 1)
	}
	go func() {
		for i, e := range entries {
			group.Go(func() error {
				cell, err := r.prove(ctx, e)
				results[i] <- result{cell, err}
				return nil
			})
		}
	}()
	bad := 0
	for i, e := range entries {
		one := <-results[i]
		if ctx.Err() != nil {
			continue
		}
		if one.err == nil {
			if e.Not == "" {
				one.cell.Breaks = e.Breaks
			}
			r.run.Cells = append(r.run.Cells, one.cell)
		}
		text, good := assess(e, one.cell, one.err)
		if !good {
			bad++
		}
		fmt.Fprintf(r.stdout, "%-12s %-16s %s: %s\n", history.Plain(e.Fault), e.Verdicts(), history.Plain(e.Trace.String()),
			history.Plain(text))
	}
	if bad > 0 {
		fmt.Fprintf(r.stdout, "NOT as expected: %d of %d traces\n", bad, len(entries))
		return surprised
	}
	fmt.Fprintf(r.stdout, "as expected (%d traces)\n", len(entries))
	return asExpected
}

// prove replays a trace until it breaks its verdicts. One that is not expected to break them is replayed once.
func (r *replays) prove(ctx context.Context, e replay.Entry) (*history.Cell, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e.Not != "" {
		return r.environment.Play(ctx, e.Trace, 1, func(replay.Line) {})
	}
	return r.environment.Prove(ctx, e.Trace, e.Breaks, func(float64, error) {}, func(replay.Line) {})
}

// assess describes the result of a trace, and reports whether it is as expected.
func assess(e replay.Entry, cell *history.Cell, err error) (text string, good bool) {
	missing := e.Breaks
	if err == nil {
		missing = replay.Missing(cell, e.Breaks)
	}
	switch {
	case e.Not != "" && len(missing) == len(e.Breaks):
		return "not on real processes: " + e.Not, true
	case e.Not != "":
		return "BROKEN, although the list says that it is not: " + e.Not, false
	case errors.As(err, new(cluster.Needs)): // such as a newer Redis
		return "not replayed: " + err.Error(), true
	case err != nil:
		return "NOT REPLAYED: " + err.Error(), false
	case len(missing) > 0:
		return fmt.Sprintf("NOT BROKEN: %v; broken are %v", missing, replay.Broken(cell)), false
	}
	return "BROKEN: " + cell.Finding(e.Breaks[0]).Because, true
}
