package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stockapi/internal/explore"
)

// A task is one cell to explore, and then what was found.
type task struct {
	rung   string
	bounds explore.Bounds
	cell   explore.Cell
	err    error
	begun  atomic.Bool
	done   chan struct{}

	stories []explore.Story // of the counterexamples
}

// run explores, and prints what was found of each cell as soon as it and all before it are done. When the context ends
// it stops at once: what was printed stays.
func (f *flags) run(ctx context.Context, t *testing.T, stdout, stderr io.Writer) int {
	p := newPrinter(stdout, f.Brief)
	if f.Replay != "" {
		return f.replay(t, p, stderr)
	}
	p.head(f)
	tasks := f.tasks()
	start(ctx, t, tasks, f.Workers)
	show := newProgress(stderr)
	r := &results{of: len(tasks), usual: tasks[0].bounds.AreUsual()}
	for i, one := range tasks {
		interrupted := !one.await(ctx, func() { show.draw(i, tasks) })
		show.clear()
		if interrupted {
			r.interrupted = true
			break
		}
		if err := one.tell(t); err != nil {
			return complain(stderr, fmt.Errorf("%s under %s: %w", one.rung, explore.FaultNames(one.bounds), err))
		}
		if i == 0 || tasks[i-1].rung != one.rung {
			p.rung(one.rung)
		}
		p.cell(one)
		r.add(one)
	}
	return f.end(p, stderr, tasks[:r.explored], r)
}

// end prints how it came out, and writes the files that the flags name.
func (f *flags) end(p printer, stderr io.Writer, tasks []*task, r *results) int {
	if !r.interrupted {
		_, words := r.outcome()
		p.line("")
		p.line(words)
	}
	for _, file := range []struct {
		flag  string
		write func([]*task, *results) error
	}{{"--json", f.writeJSON}, {"--html", f.writeHTML}, {"--markdown", f.writeMarkdown}} {
		if err := file.write(tasks, r); err != nil {
			return complain(stderr, fmt.Errorf("%s: %w; name a file that can be written", file.flag, err))
		}
	}
	switch {
	case r.interrupted:
		return complain(stderr, fmt.Errorf("interrupted after %d of %s", r.explored, count(r.of, "cell")))
	case r.surprises > 0:
		return surprised
	}
	return asExpected
}

// results counts what came out.
type results struct {
	of, explored, surprises int

	usual       bool // whether anything is expected within these bounds
	interrupted bool
}

func (r *results) add(one *task) {
	r.explored++
	if one.surprise() != "" {
		r.surprises++
	}
}

// outcome says whether all is as expected, in the words of the load test.
func (r *results) outcome() (good bool, words string) {
	switch {
	case r.interrupted:
		return false, fmt.Sprintf("interrupted after %d of %s", r.explored, count(r.of, "cell"))
	case !r.usual:
		return true, fmt.Sprintf("%s; nothing is expected within these bounds", count(r.explored, "cell"))
	case r.surprises > 0:
		return false, fmt.Sprintf("NOT as expected (%d of %d cells)", r.surprises, r.of)
	}
	return true, fmt.Sprintf("as expected (%d of %d cells)", r.of, r.of)
}

// await waits until a cell is explored. Meanwhile it calls show a few times a second. It returns false if the context
// ended before.
func (one *task) await(ctx context.Context, show func()) bool {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-one.done:
			return true
		case <-ctx.Done():
			return false
		case <-tick.C:
			show()
		}
	}
}

// tell runs each counterexample once more. It returns an error if one does not break its verdict again.
func (one *task) tell(t *testing.T) error {
	if one.err != nil {
		return one.err
	}
	for _, found := range one.cell.Found {
		story, err := explore.Replay(t, found.Trace, one.bounds)
		if err != nil {
			return err
		}
		if !story.Breaks(found.Verdict) {
			return fmt.Errorf("%s broke %s, and does not when it is replayed", found.Trace, found.Verdict)
		}
		one.stories = append(one.stories, story.Until(len(found.Trace.Steps)))
	}
	return nil
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
	usual := f.bounds()
	for _, rung := range f.rungs {
		add := func(b explore.Bounds) {
			tasks = append(tasks, &task{rung: rung, bounds: b, done: make(chan struct{})})
		}
		switch f.Faults {
		case 0:
			add(usual)
		case 1:
			for _, kind := range f.kinds {
				add(usual.With(1, kind))
			}
		default:
			add(usual.With(f.Faults, f.kinds...))
		}
	}
	return tasks
}

// bounds returns those of the flags, without faults.
func (f *flags) bounds() explore.Bounds {
	return explore.Bounds{Clients: f.Clients, Nodes: f.Nodes, Stock: f.Stock, Wait: f.Wait, RetryNodes: f.RetryNodes,
		Switches: f.Switches, Schedules: f.Schedules, Plain: f.Plain}
}

// start explores the cells, in their order and several at a time. When the context has ended it begins no other.
func start(ctx context.Context, t *testing.T, tasks []*task, workers int) {
	var next sync.Mutex
	at := 0
	for range workers {
		go func() {
			for {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= len(tasks) || ctx.Err() != nil {
					return
				}
				one := tasks[i]
				one.begun.Store(true)
				one.cell, one.err = explore.Explore(t, one.rung, one.bounds)
				close(one.done)
			}
		}()
	}
}

// replay runs the schedule of a trace, and prints it.
func (f *flags) replay(t *testing.T, p printer, stderr io.Writer) int {
	trace, err := explore.ParseTrace(f.Replay)
	if err != nil {
		return complain(stderr, err)
	}
	story, err := explore.Replay(t, trace, f.bounds())
	if err != nil {
		return complain(stderr, err)
	}
	p.story(story)
	return asExpected
}
