package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"stockapi/internal/explore"
)

// A task is one cell to explore, and then what was found.
type task struct {
	rung   string
	bounds explore.Bounds
	cell   explore.Cell
	err    error
	done   chan struct{}
}

// run explores, and prints what was found of each cell as soon as it and all before it are done.
func (f *flags) run(t *testing.T, stdout, stderr io.Writer) int {
	if f.Replay != "" {
		return f.replay(t, stdout, stderr)
	}
	p := printer{stdout, f.Brief}
	p.head(f)
	tasks := f.tasks()
	start(t, tasks, f.Workers)
	code := asExpected
	for i, one := range tasks {
		progress(stderr, i, len(tasks), one)
		<-one.done
		if one.err != nil {
			return complain(stderr, fmt.Errorf("%s under %s: %w", one.rung, explore.FaultNames(one.bounds), one.err))
		}
		if i == 0 || tasks[i-1].rung != one.rung {
			p.rung(one.rung)
		}
		p.cell(t, one)
		if one.surprise() != "" {
			code = surprised
		}
	}
	if err := f.writeJSON(tasks); err != nil {
		return complain(stderr, fmt.Errorf("--json: %w; name a file that can be written", err))
	}
	return code
}

// surprise returns in what a cell is not as expected. Expectations are for the usual bounds.
func (one *task) surprise() string {
	if !one.bounds.AreUsual() {
		return ""
	}
	return one.cell.Surprise()
}

// tasks lists the cells: each rung without faults, and with one fault of each kind. Several faults in one schedule are
// of all kinds that were chosen.
func (f *flags) tasks() (tasks []*task) {
	for _, rung := range f.rungs {
		for _, s := range f.situations {
			if s.Name != "" && !slices.Contains(s.Rungs, rung) {
				continue
			}
			for _, b := range f.faults(rung, s) {
				tasks = append(tasks, &task{rung: rung, bounds: b, done: make(chan struct{})})
			}
		}
	}
	return tasks
}

// faults returns the bounds of each cell of a rung in a situation. A situation that was not named by a flag is
// explored under the kinds of faults that it is of interest for: those that have an expectation.
func (f *flags) faults(rung string, s explore.Situation) (cells []explore.Bounds) {
	bounds := f.bounds().In(s)
	switch {
	case f.Faults == 0:
		return []explore.Bounds{bounds}
	case f.Faults > 1 && (s.Name == "" || len(f.Situations) > 0):
		return []explore.Bounds{bounds.With(f.Faults, f.kinds...)}
	case f.Faults > 1:
		return nil
	}
	for _, kind := range f.kinds {
		_, expected := explore.Expect(rung, s.Name, kind.Name)
		if s.Name == "" || len(f.Situations) > 0 || expected {
			cells = append(cells, bounds.With(1, kind))
		}
	}
	return cells
}

// bounds returns those of the flags, without faults.
func (f *flags) bounds() explore.Bounds {
	return explore.Bounds{Clients: f.Clients, Nodes: f.Nodes, Stock: f.Stock, Wait: f.Wait, RetryNodes: f.RetryNodes,
		Switches: f.Switches, Schedules: f.Schedules, UntilSurprise: f.UntilSurprise,
		Plain: f.Plain}
}

// start explores the cells, in their order and several at a time.
func start(t *testing.T, tasks []*task, workers int) {
	var next sync.Mutex
	at := 0
	for range workers {
		go func() {
			for {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= len(tasks) {
					return
				}
				one := tasks[i]
				one.cell, one.err = explore.Explore(t, one.rung, one.bounds)
				close(one.done)
			}
		}()
	}
}

// replay runs the schedule of a trace, and prints it.
func (f *flags) replay(t *testing.T, stdout, stderr io.Writer) int {
	trace, err := explore.ParseTrace(f.Replay)
	if err != nil {
		return complain(stderr, err)
	}
	story, err := explore.Replay(t, trace, f.bounds())
	if err != nil {
		return complain(stderr, err)
	}
	printer{stdout, false}.story(story)
	return asExpected
}
