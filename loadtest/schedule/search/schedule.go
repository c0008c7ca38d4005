package search

import (
	"slices"

	"stockapi/loadtest/schedule"
)

// A Schedule is one schedule, while it is played. The zero value belongs to no search: its steps are chosen elsewhere,
// and noted by [Schedule.Note].
type Schedule struct {
	search   *Search
	path     path
	steps    []Option
	levels   []Level // after each step
	asleep   []string
	branches []path
	stopped  bool // as others are as good
	diverged *divergence
}

// A divergence is a step that could not be taken, and what could.
type divergence struct {
	step    Option
	options []Option
}

// Steps returns the steps so far.
func (o *Schedule) Steps() []Option { return o.steps }

// Level returns the level of the steps so far.
func (o *Schedule) Level() Level { return o.LevelAt(len(o.steps)) }

// LevelAt returns the level of the first steps.
func (o *Schedule) LevelAt(steps int) Level {
	if steps == 0 {
		return Level{}
	}
	return o.levels[steps-1]
}

// HasDiverged reports whether the schedule could not take a step that it took before.
func (o *Schedule) HasDiverged() bool { return o.diverged != nil }

// Choose chooses the next step: see [World]. It follows the path, and then stays with the same client for as long as it
// can.
func (o *Schedule) Choose(options []Option) int {
	at := len(o.steps)
	if at < len(o.path.Steps) {
		step := o.path.Steps[at]
		n := slices.IndexFunc(options, func(c Option) bool { return c.ID == step.ID })
		if n < 0 {
			o.diverged = &divergence{step, slices.Clone(options)}
			return -1
		}
		if at == len(o.path.Steps)-1 {
			o.asleep = o.path.asleep
		}
		o.take(options, n)
		return n
	}
	var awake []int
	for n, c := range options {
		if !slices.Contains(o.asleep, c.ID) {
			awake = append(awake, n)
		}
	}
	o.stopped = len(awake) == 0 || // every continuation was tried in another order
		o.search.isHopeless(Prefix{o.Level(), o.steps})
	if o.stopped {
		return -1
	}
	slices.SortStableFunc(awake, func(a, b int) int { return o.Prefer(options[a], options[b]) })
	o.branch(options, awake)
	o.take(options, awake[0])
	return awake[0]
}

// Prefer compares two options: first comes the one that a schedule takes if its path leaves both.
func (o *Schedule) Prefer(a, b Option) int { return o.preference(a) - o.preference(b) }

func (o *Schedule) preference(c Option) int {
	last, moved := o.lastClient()
	switch {
	case c.IsFault():
		return 3
	case c.Kind == schedule.Grant && moved && c.Who == last:
		return 0
	case c.Kind == schedule.Grant:
		return 1
	}
	return 2
}

// branch leaves the other continuations to be tried.
func (o *Schedule) branch(options []Option, awake []int) {
	tried := slices.Clone(o.asleep)
	for i, n := range awake {
		if i > 0 {
			steps := append(slices.Clone(o.steps), options[n])
			o.branches = append(o.branches, path{Prefix{o.levelTo(options[n]), steps}, slices.Clone(tried)})
		}
		tried = append(tried, options[n].ID)
	}
}

// levelTo returns the level after a further step.
func (o *Schedule) levelTo(c Option) Level {
	l := o.Level()
	if last, moved := o.lastClient(); moved && c.ByClient() && c.Who != last {
		l.Changes++
	}
	if c.IsFault() {
		l.Faults++
	}
	return l
}

// take continues by one step. Sleeping options go on sleeping if they are independent of it.
func (o *Schedule) take(options []Option, n int) {
	taken, independent := options[n], o.search.Independent
	o.Note(taken)
	var still []string
	for _, c := range options {
		if slices.Contains(o.asleep, c.ID) && independent != nil && independent(c, taken) {
			still = append(still, c.ID)
		}
	}
	o.asleep = still
}

// Note records a step that another chooser has taken.
func (o *Schedule) Note(taken Option) {
	o.levels = append(o.levels, o.levelTo(taken))
	o.steps = append(o.steps, taken)
}

// lastClient returns the client of the last step by a client, and whether there is one.
func (o *Schedule) lastClient() (who int, moved bool) {
	for _, step := range slices.Backward(o.steps) {
		if step.ByClient() {
			return step.Who, true
		}
	}
	return 0, false
}
