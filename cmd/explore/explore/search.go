package explore

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"stockapi/internal/lock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A search runs schedules of one rung within its bounds. Each runs from its beginning: the state of a client is that of
// its goroutines, which cannot be copied.
type search struct {
	t       *testing.T
	rung    lock.Rung
	bounds  Bounds
	servers *servers

	wanted    []history.Verdict                  // the verdicts searched for; empty: all
	limits    map[history.Verdict]Counterexample // counterexamples that it has to undercut
	best      map[history.Verdict]Counterexample
	first     map[history.Verdict]int // the number of runs until a verdict was first broken
	complete  int                     // schedules that were completed
	redundant int                     // schedules that were stopped, as equivalent to others
	diverged  error
	taken     map[stepID]bool // the steps that any schedule has taken; nil: not recorded
}

// isCutShort reports whether the search must stop at its bounds.
func (s *search) isCutShort() bool {
	most := s.bounds.Schedules
	return most > 0 && s.complete+s.redundant >= most
}

// A Counterexample is a schedule that breaks a verdict.
type Counterexample struct {
	Violation
	Trace      schedule.Trace `json:"trace"`
	Faults     int            `json:"faults"`
	Switches   int            `json:"switches"`
	FoundAfter int            `json:"after"` // runs until the verdict was first broken, maybe by a longer one
}

// less reports whether a counterexample is shorter than another: fewer faults, then fewer switches, then fewer steps.
// Of two equally long ones, that with a's steps earlier and its fault later comes first.
func (c Counterexample) less(other Counterexample) bool {
	switch {
	case c.Faults != other.Faults:
		return c.Faults < other.Faults
	case c.Switches != other.Switches:
		return c.Switches < other.Switches
	case len(c.Trace.Steps) != len(other.Trace.Steps):
		return len(c.Trace.Steps) < len(other.Trace.Steps)
	}
	return slices.CompareFunc(c.Trace.Steps, other.Trace.Steps, schedule.Step.Compare) < 0
}

// trace returns the trace of steps.
func (s *search) trace(steps []schedule.Step) schedule.Trace {
	return schedule.Trace{Rung: s.rung.Number, Situation: s.bounds.Situation, Steps: steps}
}

// errDiverged ends a search: the same choices must make the same schedule.
var errDiverged = errors.New("a schedule did not go the same way twice")

// A path is the beginning of a schedule that is yet to be run.
type path struct {
	steps    []schedule.Step
	asleep   []stepID // steps that need not be taken after the last step of the path: they were tried before
	switches int
}

// A frontier holds the paths that are yet to be run. It returns the one with the fewest switches, and of those the
// shortest. It drops hopeless paths.
type frontier struct {
	paths    []path
	hopeless func(path) bool
}

func (f *frontier) add(p path) {
	if !f.hopeless(p) {
		heap.Push(f, p)
	}
}

func (f *frontier) next() (path, bool) {
	for len(f.paths) > 0 {
		if p := heap.Pop(f).(path); !f.hopeless(p) {
			return p, true
		}
	}
	return path{}, false
}

// Len is part of heap.Interface.
func (f *frontier) Len() int { return len(f.paths) }

// Less is part of heap.Interface.
func (f *frontier) Less(i, j int) bool {
	a, b := f.paths[i], f.paths[j]
	if a.switches != b.switches {
		return a.switches < b.switches
	}
	if len(a.steps) != len(b.steps) {
		return len(a.steps) < len(b.steps)
	}
	return slices.CompareFunc(a.steps, b.steps, schedule.Step.Compare) < 0
}

// Swap is part of heap.Interface.
func (f *frontier) Swap(i, j int) { f.paths[i], f.paths[j] = f.paths[j], f.paths[i] }

// Push is part of heap.Interface.
func (f *frontier) Push(p any) { f.paths = append(f.paths, p.(path)) }

// Pop is part of heap.Interface.
func (f *frontier) Pop() any {
	last := f.paths[len(f.paths)-1]
	f.paths = f.paths[:len(f.paths)-1]
	return last
}

// A run is one schedule of a search.
type run struct {
	search   *search
	path     path
	frontier *frontier

	steps    []schedule.Step
	switches []int // after each step
	last     int   // the client of the last step by a client, or -1
	asleep   []stepID
}

// run runs a schedule that begins with a path, and adds the paths that branch off it to the frontier.
func (s *search) run(p path, f *frontier) {
	one := &run{search: s, path: p, frontier: f, last: -1}
	synctest.Test(s.t, func(*testing.T) {
		w := newWorld(s.rung, s.bounds, s.servers)
		defer w.end()
		if w.run(one.choose) {
			w.finish()
			s.complete++
		} else {
			s.redundant++
		}
		one.record(w)
	})
}

// record keeps the shortest counterexamples. What a schedule broke before it was stopped counts.
func (o *run) record(w *world) {
	s := o.search
	for verdict, violation := range w.judge.violated {
		if _, known := s.first[verdict]; !known {
			s.first[verdict] = s.complete + s.redundant
		}
		at := violation.At
		faults := 0
		for _, step := range o.steps[:at] {
			if step.IsFault() {
				faults++
			}
		}
		found := Counterexample{Violation: violation, Trace: s.trace(slices.Clone(o.steps[:at])), Faults: faults}
		if at > 0 {
			found.Switches = o.switches[at-1]
		}
		if best, known := s.best[verdict]; !known || found.less(best) {
			s.best[verdict] = found
		}
	}
}

// choose is the scheduler of a search. It follows the path, and then stays with the same client for as long as it can.
func (o *run) choose(choices []choice) int {
	at := len(o.steps)
	if at < len(o.path.steps) {
		n := slices.IndexFunc(choices, func(c choice) bool { return c.Step == o.path.steps[at] })
		if n < 0 {
			o.search.diverged = o.divergence(o.path.steps[at], choices)
			return -1
		}
		if at == len(o.path.steps)-1 {
			o.asleep = o.path.asleep
		}
		o.take(choices, n)
		return n
	}
	var awake []int
	for n, c := range choices {
		if !slices.Contains(o.asleep, c.id()) {
			awake = append(awake, n)
		}
	}
	if len(awake) == 0 {
		return -1 // every continuation was tried in another order
	}
	if o.search.isHopeless(path{steps: o.steps, switches: o.switched()}) {
		return -1
	}
	slices.SortStableFunc(awake, func(a, b int) int { return o.preference(choices[a]) - o.preference(choices[b]) })
	o.branch(choices, awake)
	o.take(choices, awake[0])
	return awake[0]
}

// divergence is the error of a schedule that cannot take a step that it took before.
func (o *run) divergence(step schedule.Step, choices []choice) error {
	return fmt.Errorf("%w: %s could not be taken after %s; possible steps: %s", errDiverged, step,
		o.search.trace(o.steps), stepNames(choices))
}

// preference is lower for steps that a schedule takes first.
func (o *run) preference(c choice) int {
	switch {
	case c.IsFault():
		return 3
	case c.Kind == schedule.Grant && c.Who == o.last:
		return 0
	case c.Kind == schedule.Grant:
		return 1
	}
	return 2
}

// branch adds the other continuations to the frontier.
func (o *run) branch(choices []choice, awake []int) {
	tried := slices.Clone(o.asleep)
	paths := make([]path, 0, len(awake))
	for i, n := range awake {
		if i > 0 {
			steps := append(slices.Clone(o.steps), choices[n].Step)
			paths = append(paths, path{steps, slices.Clone(tried), o.switchesTo(choices[n])})
		}
		tried = append(tried, choices[n].id())
	}
	for _, p := range slices.Backward(paths) {
		o.frontier.add(p)
	}
}

// switchesTo returns the number of switches after a further step.
func (o *run) switchesTo(c choice) int {
	n := o.switched()
	if c.ByClient() && o.last >= 0 && c.Who != o.last {
		n++
	}
	return n
}

// switched returns the number of switches so far.
func (o *run) switched() int {
	if len(o.switches) == 0 {
		return 0
	}
	return o.switches[len(o.switches)-1]
}

// take continues by one step. Sleeping steps go on sleeping if they are independent of it.
func (o *run) take(choices []choice, n int) {
	taken := choices[n]
	o.note(taken)
	var still []stepID
	for _, c := range choices {
		if slices.Contains(o.asleep, c.id()) && !o.search.bounds.Plain && commuteInPlace(c, taken) {
			still = append(still, c.id())
		}
	}
	o.asleep = still
}

// note records a step that is taken.
func (o *run) note(taken choice) {
	o.switches = append(o.switches, o.switchesTo(taken))
	o.steps = append(o.steps, taken.Step)
	if o.search.taken != nil {
		o.search.taken[taken.id()] = true
	}
	if taken.ByClient() {
		o.last = taken.Who
	}
}
