package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"stockapi/internal/lock"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
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

// Explore runs all schedules of a rung within the bounds. It returns an error if the rung cannot be explored, or if a
// schedule was not repeatable.
func Explore(t *testing.T, rung string, b Bounds) (Exploration, error) {
	s, err := newSearch(t, rung, b)
	if err != nil {
		return Exploration{}, err
	}
	cell := Exploration{Rung: s.rung.Number, Situation: b.Situation, Fault: FaultNames(b)}
	if b.Plain {
		cell.Exhausted = s.all()
	} else {
		cell.Exhausted = (&reduction{search: s}).all()
	}
	cell.Schedules, cell.Redundant, cell.Shortest = s.complete, s.redundant, cell.Exhausted
	if s.diverged != nil {
		return cell, s.diverged
	}
	found := s.best
	if b.UntilSurprise && s.isSurprised() {
		maps.DeleteFunc(found, func(v history.Verdict, _ Counterexample) bool { return s.isExpected(v) })
	}
	if !b.Plain {
		if found, err = s.shorten(t, &cell); err != nil {
			return cell, err
		}
	}
	for _, v := range Verdicts {
		if c, ok := found[v]; ok {
			c.FoundAfter = s.first[v]
			cell.Found = append(cell.Found, c)
		}
	}
	return cell, nil
}

func newSearch(t *testing.T, rung string, b Bounds) (*search, error) {
	r, err := lock.Find(rung)
	if err != nil {
		return nil, err
	}
	if !IsExplorable(r) {
		return nil, fmt.Errorf("%s cannot be explored: its locks are not in Redis", r.Number)
	}
	if err := b.fits(r); err != nil {
		return nil, err
	}
	servers, err := newServers(r)
	if err != nil {
		return nil, err
	}
	return &search{t: t, rung: r, bounds: b, servers: servers, best: map[history.Verdict]Counterexample{},
		first: map[history.Verdict]int{}}, nil
}

// IsExplorable reports whether a rung keeps its locks in Redis, or needs no server for them.
func IsExplorable(r lock.Rung) bool {
	return !slices.ContainsFunc(r.Needs, func(need string) bool {
		return need != lock.NeedRedis && need != lock.NeedRedlock
	})
}

// all runs schedules until no path is left. It returns false if it stopped before.
func (s *search) all() bool {
	f := &frontier{hopeless: s.isHopeless}
	f.add(path{})
	for {
		p, ok := f.next()
		if !ok {
			return true
		}
		if s.isCutShort() {
			return false
		}
		s.run(p, f)
		if s.diverged != nil || s.isSurprised() {
			return false
		}
	}
}

// isSurprised reports whether the search may end because a verdict was broken that should hold.
func (s *search) isSurprised() bool {
	if !s.bounds.UntilSurprise || len(s.wanted) > 0 {
		return false
	}
	for v := range s.best {
		if !s.isExpected(v) {
			return true
		}
	}
	return false
}

func (s *search) isExpected(v history.Verdict) bool {
	breaks, _, _ := catalog.ExpectSchedules(s.rung.Number, s.bounds.Situation, FaultNames(s.bounds))
	return slices.Contains(breaks, v)
}

// shorten returns the shortest counterexample for each broken verdict. A search that skips orders of independent steps
// finds whether a verdict can be broken, and by how many faults, but may skip the order with the fewest switches. So
// all orders are tried here, those with few switches first.
func (s *search) shorten(t *testing.T, cell *Exploration) (map[history.Verdict]Counterexample, error) {
	shortest := map[history.Verdict]Counterexample{}
	for faults := 0; faults <= s.bounds.Faults; faults++ {
		var wanted []history.Verdict
		for _, v := range Verdicts {
			if c, ok := s.best[v]; ok && c.Faults == faults {
				wanted = append(wanted, v)
			}
		}
		if len(wanted) == 0 {
			continue
		}
		b := s.bounds
		b.Faults = faults
		short := &search{t: t, rung: s.rung, bounds: b, servers: s.servers, best: map[history.Verdict]Counterexample{},
			first: map[history.Verdict]int{}, wanted: wanted, limits: s.best}
		for _, v := range wanted {
			short.best[v] = s.best[v]
		}
		whole := short.all()
		if short.diverged != nil {
			return nil, short.diverged
		}
		cell.Shortest = cell.Shortest && whole
		for _, v := range wanted {
			shortest[v] = short.best[v]
		}
	}
	return shortest, nil
}

// isHopeless reports whether no schedule that begins with a path is shorter than the known ones. A counterexample of
// the reduced search gives way to one of the same length: of those, the first in order is wanted. A search for all
// verdicts has no hopeless paths.
func (s *search) isHopeless(p path) bool {
	if len(s.wanted) == 0 {
		return false
	}
	for _, v := range s.wanted {
		best := s.best[v]
		steps := len(best.Trace.Steps)
		if s.limits[v].Trace.String() == best.Trace.String() {
			steps++
		}
		if p.switches < best.Switches || p.switches == best.Switches && len(p.steps) < steps {
			return false
		}
	}
	return true
}

// Replay runs the schedule of a trace, and continues it as far as possible without a fault. It returns the steps taken,
// and what they broke.
func Replay(t *testing.T, trace schedule.Trace, b Bounds) (Story, error) {
	b.Situation, b.Clients = trace.Situation, max(b.Clients, trace.Clients())
	s, err := newSearch(t, trace.Rung, b)
	if err != nil {
		return Story{}, err
	}
	s.bounds.Kinds = allKinds()
	for _, step := range trace.Steps {
		if step.IsFault() {
			s.bounds.Faults++
		}
	}
	var story Story
	one := &run{search: s, path: path{steps: trace.Steps}, frontier: &frontier{hopeless: s.isHopeless}, last: -1}
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s.rung, s.bounds, s.servers)
		defer w.end()
		story.begin(w)
		whole := w.run(func(choices []choice) int {
			story.look(w)
			n := one.choose(choices)
			if n >= 0 {
				story.add(w, choices[n])
			}
			return n
		})
		if !whole {
			story.missing(one, w)
			return
		}
		story.look(w)
		w.finish()
		story.end(w)
	})
	return story, story.err
}
