package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"stockapi/cmd/explore/explore"
	"stockapi/internal/lock"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/schedule"
)

// A task is one cell to explore, with its result.
type task struct {
	rung   string
	bounds explore.Bounds
	cell   explore.Exploration
	err    error
	done   chan struct{}
}

// run explores the cells, and prints the result of each as soon as it and all before it are done. It stops at once when
// ctx ends.
func (f *flags) run(ctx context.Context, t *testing.T, stdout, stderr io.Writer) int {
	p := printer{terminal.NewPrinter(stdout), f.Brief}
	if f.Replay != "" {
		return f.replay(t, p, stderr)
	}
	p.wrapped("bounds: ", f.inBounds())
	tasks := f.tasks()
	r := &results{of: len(tasks), usual: tasks[0].bounds.AreUsual()}
	start(ctx, t, tasks)
	shown := terminal.NewProgress(stderr, terminal.Of(stderr))
	for i, one := range tasks {
		shown.Status(fmt.Sprintf("%d of %s; now %s under %s", i, count(len(tasks), "cell"), one.rung,
			explore.FaultNames(one.bounds)))
		select {
		case <-one.done:
		case <-ctx.Done():
			r.interrupted = true
		}
		shown.Clear()
		if r.interrupted {
			break
		}
		if one.err != nil {
			return complain(stderr, fmt.Errorf("%s under %s: %w", one.rung, explore.FaultNames(one.bounds), one.err))
		}
		if i == 0 || tasks[i-1].rung != one.rung {
			p.rung(one.rung)
		}
		p.cell(one)
		r.add(one)
	}
	return f.end(p, stderr, tasks[:r.explored], r)
}

// end prints the outcome, writes the file of --json, and returns the exit code.
func (f *flags) end(p printer, stderr io.Writer, tasks []*task, r *results) int {
	var failed error
	if r.interrupted {
		failed = errors.New(r.outcome())
	} else {
		p.line("")
		p.line(r.outcome())
	}
	if err := f.writeJSON(tasks, r); err != nil {
		failed = errors.Join(failed, fmt.Errorf("--json: %w; name a file that can be written", err))
	}
	switch {
	case failed != nil:
		return complain(stderr, failed)
	case r.surprises > 0:
		return surprised
	}
	return asExpected
}

// results counts cells.
type results struct {
	of, explored, surprises int

	usual       bool // the bounds are those of the expectations
	interrupted bool
}

func (r *results) add(one *task) {
	r.explored++
	if one.surprise() != "" {
		r.surprises++
	}
}

// outcome returns the last line, in the words of the load test.
func (r *results) outcome() string {
	switch {
	case r.interrupted:
		return fmt.Sprintf("interrupted after %d of %s", r.explored, count(r.of, "cell"))
	case !r.usual:
		return fmt.Sprintf("%s; no expectations for these bounds", count(r.explored, "cell"))
	case r.surprises > 0:
		return fmt.Sprintf("NOT as expected (%d of %d cells)", r.surprises, r.of)
	}
	return fmt.Sprintf("as expected (%d of %d cells)", r.of, r.of)
}

// surprise returns how a cell differs from its expectation. Expectations are for the usual bounds.
func (one *task) surprise() string {
	if !one.bounds.AreUsual() {
		return ""
	}
	return one.cell.Surprise()
}

// tasks lists the cells: each rung without faults, or under one fault of each chosen kind, or under several of them.
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

// faults returns the bounds of each cell of a rung in a situation. Without --situations, a situation is explored only
// under the kinds of faults for which it has an expectation.
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
		_, _, expected := catalog.ExpectSchedules(rung, s.Name, kind.Name)
		if s.Name == "" || len(f.Situations) > 0 || expected {
			cells = append(cells, bounds.With(1, kind))
		}
	}
	return cells
}

// bounds returns the bounds of the flags, without faults.
func (f *flags) bounds() explore.Bounds {
	return explore.Bounds{Clients: f.Clients, Schedules: f.Schedules, UntilSurprise: f.UntilSurprise}
}

// start explores the cells, one per core at a time. The largest come first, so that none runs alone at the end. No cell
// starts after ctx has ended.
func start(ctx context.Context, t *testing.T, tasks []*task) {
	queue := slices.Clone(tasks)
	slices.SortStableFunc(queue, func(a, b *task) int { return size(b) - size(a) })
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	go func() {
		for _, one := range queue {
			workers.Go(func() error {
				if ctx.Err() == nil {
					one.explore(t)
				}
				return nil
			})
		}
	}()
}

// explore explores the cell. A failing test ends the goroutine, and done is closed all the same.
func (one *task) explore(t *testing.T) {
	defer close(one.done)
	one.err = errors.New("the search was aborted")
	one.cell, one.err = explore.Explore(t, one.rung, one.bounds)
}

// size ranks a cell by its number of schedules: most with several lock servers, more if orders wait.
func size(one *task) int {
	r, _ := lock.Find(one.rung) // the flags have been checked
	switch {
	case slices.Contains(r.Needs, lock.NeedRedlock):
		return 2
	case r.Wait > 0:
		return 1
	}
	return 0
}

// replay runs the schedule of a trace, and prints it.
func (f *flags) replay(t *testing.T, p printer, stderr io.Writer) int {
	trace, err := schedule.ParseTrace(f.Replay)
	if err != nil {
		return complain(stderr, err)
	}
	story, err := explore.Replay(t, trace, f.bounds())
	if err != nil {
		return complain(stderr, err)
	}
	p.story(story)
	p.page("", trace)
	return asExpected
}
