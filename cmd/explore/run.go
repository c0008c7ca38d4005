package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
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
	f.start(t, tasks)
	code := asExpected
	for i, one := range tasks {
		one.await(stderr, tasks)
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
	if f.For > 0 {
		p.howFar(f, tasks)
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

// faults returns the bounds of each cell of a rung in a situation. A situation that was not named on the command line is
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

// start explores the cells, several at a time. The largest come first, so that none of them is left alone at the end.
// When the time is limited they come last, and get what the others leave.
func (f *flags) start(t *testing.T, tasks []*task) {
	until := time.Now().Add(f.For)
	queue := slices.Clone(tasks)
	slices.SortStableFunc(queue, func(a, b *task) int {
		if f.For > 0 {
			return size(a) - size(b)
		}
		return size(b) - size(a)
	})
	var mu sync.Mutex
	next := func() *task {
		mu.Lock()
		defer mu.Unlock()
		if len(queue) == 0 {
			return nil
		}
		one := queue[0]
		if f.For > 0 { // an equal share of what is left, at least a moment
			one.bounds.For = max(time.Until(until)*time.Duration(min(f.Workers, len(queue)))/time.Duration(len(queue)), 1)
		}
		queue = queue[1:]
		return one
	}
	for range f.Workers {
		go func() {
			for one := next(); one != nil; one = next() {
				one.cell, one.err = explore.Explore(t, one.rung, one.bounds)
				close(one.done)
			}
		}()
	}
}

// size ranks a cell by how many schedules it has: most if there are several lock servers, more if orders wait.
func size(one *task) int {
	r, _ := lock.Find(one.rung) // the flags were checked
	switch {
	case slices.Contains(r.Needs, lock.NeedRedlock):
		return 2
	case r.Wait > 0:
		return 1
	}
	return 0
}

// await waits until a cell was explored, and says on a terminal how many were.
func (one *task) await(stderr io.Writer, tasks []*task) {
	for {
		select {
		case <-one.done:
			return
		case <-time.After(time.Second):
			progress(stderr, tasks)
		}
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
