package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
)

// An Exploration is the result of searching one rung under one kind of fault.
type Exploration struct {
	Rung      string           `json:"rung"`
	Situation string           `json:"situation,omitempty"` // "" for the usual one
	Fault     string           `json:"fault"`               // the kinds of faults, "none" without one
	Schedules int              `json:"schedules"`           // completed
	Redundant int              `json:"-"`                   // stopped, as another order of the same steps was run
	Exhausted bool             `json:"exhausted"`           // whether there is no other schedule within the bounds
	Shortest  bool             `json:"shortest"`            // whether no counterexample within the bounds is shorter
	Found     []Counterexample `json:"violations"`
}

// Surprise returns how a search differs from its expectation, "" if it does not or if there is none. Only the usual
// bounds have expectations.
func (c Exploration) Surprise() string {
	breaks, why, ok := catalog.ExpectSchedules(c.Rung, c.Situation, c.Fault)
	if !ok {
		return ""
	}
	var parts []string
	for _, v := range Verdicts {
		found := slices.ContainsFunc(c.Found, func(one Counterexample) bool { return one.Verdict == v })
		switch should := slices.Contains(breaks, v); {
		case found && !should:
			parts = append(parts, fmt.Sprintf("%s should hold: %s", v, why))
		case should && !found && c.Exhausted:
			parts = append(parts, fmt.Sprintf("%s should break: %s", v, why))
		}
	}
	return strings.Join(parts, "; ")
}

// A Counterexample is a schedule that breaks a verdict.
type Counterexample struct {
	Violation
	Trace      schedule.Trace `json:"trace"`
	Faults     int            `json:"faults"`
	Switches   int            `json:"switches"`
	FoundAfter int            `json:"after"` // runs until the verdict was first broken, maybe by a longer one
	Story      Story          `json:"-"`
}

// Explore runs all schedules of a rung within the bounds, and replays the shortest that break a verdict. It returns an
// error if the rung cannot be explored, or if a schedule was not repeatable.
func Explore(t *testing.T, rung string, b Bounds) (Exploration, error) {
	p, err := newPlayer(t, rung, b)
	if err != nil {
		return Exploration{}, err
	}
	cell := Exploration{Rung: p.rung.Number, Situation: b.Situation, Fault: FaultNames(b)}
	searched, exhausted, err := p.all()
	cell.Schedules, cell.Redundant, cell.Exhausted, cell.Shortest = searched.Complete, searched.Redundant, exhausted,
		exhausted
	if err != nil {
		return cell, err
	}
	found := searched.Found
	if p.isSurprised(searched) {
		maps.DeleteFunc(found, func(v history.Verdict, _ search.Found) bool { return p.isExpected(v) })
	}
	if !b.Plain {
		if cell.Shortest, err = p.shorten(found); err != nil {
			return cell, err
		}
		cell.Shortest = cell.Shortest && exhausted
	}
	for _, v := range Verdicts {
		if f, ok := found[v]; ok {
			c, err := p.counterexample(v, f)
			if err != nil {
				return cell, err
			}
			cell.Found = append(cell.Found, c)
		}
	}
	return cell, nil
}

// all runs schedules until no other is left. It returns false if it stopped before.
func (p *player) all() (*search.Tally, bool, error) {
	if p.bounds.Plain {
		return p.enumerate()
	}
	r := &reduction{player: p}
	exhausted, err := r.all()
	return &r.Tally, exhausted, err
}

// enumerate is all without a reduction.
func (p *player) enumerate() (*search.Tally, bool, error) {
	s := search.New(p.policy())
	exhausted, err := s.All(p, func() bool { return p.isCutShort(&s.Tally) || p.isSurprised(&s.Tally) })
	return &s.Tally, exhausted, err
}

// shorten finds the shortest counterexample for each broken verdict. A search that skips orders of independent steps
// finds whether a verdict can be broken, and by how many faults, but may skip the order with the fewest switches. So
// all orders are tried here, those with few switches first. It returns false if it stopped before there was no shorter
// one.
func (p *player) shorten(found map[history.Verdict]search.Found) (bool, error) {
	all := true
	for faults := 0; faults <= p.bounds.Faults; faults++ {
		limits := maps.Clone(found)
		maps.DeleteFunc(limits, func(_ history.Verdict, f search.Found) bool { return f.Faults != faults })
		if len(limits) == 0 {
			continue
		}
		with := *p
		with.bounds.Faults = faults
		s := search.New(with.policy())
		s.Found = maps.Clone(limits)
		s.Hopeless = func(begun search.Prefix) bool { return isHopeless(begun, s.Found, limits) }
		whole, err := s.All(&with, func() bool { return with.isCutShort(&s.Tally) })
		if err != nil {
			return false, err
		}
		all = all && whole
		for v := range limits {
			found[v] = search.Found{Prefix: s.Found[v].Prefix, After: limits[v].After}
		}
	}
	return all, nil
}

// isHopeless reports whether no schedule that begins so is shorter than the shortest so far of each verdict that has a
// limit. A counterexample of the reduced search, the limit, gives way to one of the same length: of those, the first in
// order is wanted.
func isHopeless(begun search.Prefix, best, limits map[history.Verdict]search.Found) bool {
	for v, limit := range limits {
		steps := len(best[v].Steps)
		if !best[v].IsShorter(limit.Prefix) {
			steps++
		}
		if begun.Changes < best[v].Changes || begun.Changes == best[v].Changes && len(begun.Steps) < steps {
			return false
		}
	}
	return true
}

// counterexample replays a schedule that breaks a verdict. It returns an error if the verdict does not break again.
func (p *player) counterexample(v history.Verdict, f search.Found) (Counterexample, error) {
	trace := p.trace(f.Steps)
	story, err := p.replay(trace)
	if err != nil {
		return Counterexample{}, err
	}
	i := slices.IndexFunc(story.Broken, func(one Violation) bool { return one.Verdict == v })
	if i < 0 {
		return Counterexample{}, fmt.Errorf("%s broke %s, but does not break it when replayed", trace, v)
	}
	return Counterexample{Violation: story.Broken[i], Trace: trace, Faults: f.Faults, Switches: f.Changes,
		FoundAfter: f.After, Story: story.Until(len(trace.Steps))}, nil
}

// Replay runs the schedule of a trace, and continues it as far as possible without a fault. It returns the steps taken,
// and what they broke.
func Replay(t *testing.T, trace schedule.Trace, b Bounds) (Story, error) {
	b.Situation, b.Clients = trace.Situation, max(b.Clients, trace.Clients())
	p, err := newPlayer(t, trace.Rung, b)
	if err != nil {
		return Story{}, err
	}
	return p.replay(trace)
}

func (p *player) replay(trace schedule.Trace) (story Story, err error) {
	with := *p
	with.bounds.Kinds = allKinds()
	for _, step := range trace.Steps {
		if step.IsFault() {
			with.bounds.Faults++
		}
	}
	one := &search.Schedule{}
	with.inBubble(func(w *world) {
		story.begin(w)
		whole := w.run(func(choices []choice) int {
			story.look(w)
			n := follow(trace, one, choices)
			if n >= 0 {
				one.Note(choices[n].Option)
				story.add(w, choices[n])
			}
			return n
		})
		if !whole {
			err = story.missing(trace.Steps[len(one.Steps())], w)
			return
		}
		story.look(w)
		w.finish()
		story.end(w)
	})
	return story, err
}

// follow returns the next step of a trace, -1 if it cannot be taken. After the trace it returns the preferred step.
func follow(trace schedule.Trace, one *search.Schedule, choices []choice) (n int) {
	if at := len(one.Steps()); at < len(trace.Steps) {
		return slices.IndexFunc(choices, func(c choice) bool { return c.Step == trace.Steps[at] })
	}
	for i, c := range choices {
		if one.Prefer(c.Option, choices[n].Option) < 0 {
			n = i
		}
	}
	return n
}
