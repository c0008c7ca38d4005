package explore

import (
	"slices"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
)

// A reduction tries one order of commuting steps, and the other only where two steps that do not commute followed each
// other: dynamic partial-order reduction with source sets (Abdulla, Aronis, Jonsson and Sagonas, POPL 2014). It works
// depth first, and keeps the states of its current schedule.
type reduction struct {
	*player
	search.Tally
	states []*state // one for each step of the schedule
	err    error    // of a schedule that did not go the same way twice
}

// A state is a point of a schedule, with what was tried and is to be tried there.
type state struct {
	choices []choice
	asleep  []choice // need not be tried: tried here before, or before this state and independent of the steps since
	todo    []string // to be tried, in this order, unless they sleep
	taken   choice
	before  bits // the steps before it that the taken one depends on, directly or not
}

// bits is a set of positions in a schedule.
type bits [maxSteps/64 + 1]uint64

func (b *bits) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b *bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b *bits) union(other bits) {
	for i := range b {
		b[i] |= other[i]
	}
}

// all runs schedules until nothing is left to try. It returns false if it stopped before.
func (r *reduction) all() (bool, error) {
	for prefix := 0; prefix >= 0; prefix = r.next() {
		if r.isCutShort(&r.Tally) {
			return false, nil
		}
		r.run(prefix)
		if r.err != nil || r.isSurprised(&r.Tally) {
			return false, r.err
		}
	}
	return true, nil
}

// next returns to the last state where something is left to try, and takes that. It returns the number of steps up to
// and including it, or -1 if nothing is left.
func (r *reduction) next() int {
	for len(r.states) > 0 {
		s := r.states[len(r.states)-1]
		if len(s.choices) > 0 {
			s.asleep = append(s.asleep, s.taken)
		}
		for len(s.todo) > 0 {
			id := s.todo[0]
			s.todo = s.todo[1:]
			if !s.sleeps(id) {
				s.taken = s.choices[s.find(id)]
				return len(r.states)
			}
		}
		r.states = r.states[:len(r.states)-1]
	}
	return -1
}

func (s *state) find(id string) int {
	return slices.IndexFunc(s.choices, func(c choice) bool { return c.ID == id })
}

// run runs a schedule that begins with the steps that its states have taken.
func (r *reduction) run(prefix int) {
	one := &search.Schedule{}
	end := r.play(func(choices []choice) int {
		r.raceLast(one, prefix)
		return r.choose(one, choices, prefix)
	})
	if end.Whole {
		r.raceLast(one, prefix)
	}
	r.Count(one, end)
}

// choose is the scheduler. It repeats the prefix, whose last step is new, and then takes the preferred steps.
func (r *reduction) choose(one *search.Schedule, choices []choice, prefix int) int {
	at := len(one.Steps())
	if at >= prefix && !r.arrive(one, choices) {
		return -1
	}
	s := r.states[at]
	n := slices.IndexFunc(choices, func(c choice) bool { return c.ID == s.taken.ID })
	if n < 0 {
		r.err = r.divergence(one.Steps(), s.taken.Option, optionsOf(choices))
		return -1
	}
	if at >= prefix-1 {
		s.taken = choices[n]
	}
	one.Note(choices[n].Option)
	return n
}

// arrive adds a new state with what is to be tried there: one command, and all faults and passing time, since a
// schedule without those does not show their races. It returns false if everything that could be tried sleeps.
func (r *reduction) arrive(one *search.Schedule, choices []choice) bool {
	s := &state{choices: choices, asleep: r.sleepers()}
	var first *choice
	for i, c := range choices {
		switch {
		case s.sleeps(c.ID):
		case c.Kind != schedule.Grant:
			s.todo = append(s.todo, c.ID)
		case first == nil || one.Prefer(c.Option, first.Option) < 0:
			first = &choices[i]
		}
	}
	if first != nil {
		s.todo = slices.Insert(s.todo, 0, s.withRivals(*first)...)
	}
	if len(s.todo) == 0 {
		return false
	}
	s.taken = choices[s.find(s.todo[0])]
	s.todo = s.todo[1:]
	r.states = append(r.states, s)
	return true
}

// sleepers returns the steps that sleep in a new state: those that slept before the last step, and are independent of
// it. Their commands would still do what they did when they were tried: nothing has changed that.
func (r *reduction) sleepers() (asleep []choice) {
	if len(r.states) == 0 {
		return nil
	}
	before := r.states[len(r.states)-1]
	for _, c := range before.asleep {
		if independent(c, before.taken) {
			asleep = append(asleep, c)
		}
	}
	return asleep
}

func (s *state) sleeps(id string) bool {
	return slices.ContainsFunc(s.asleep, func(c choice) bool { return c.ID == id })
}

// raceLast calls race for the last step, unless an earlier schedule had it too. The step has been taken, so it is known
// whether its command has written anything.
func (r *reduction) raceLast(one *search.Schedule, prefix int) {
	if at := len(one.Steps()) - 1; at >= 0 && at >= prefix-1 {
		r.race(at)
	}
}

// race finds the earlier steps that do not commute with the step at that position, with no step between them that makes
// their order necessary. For each it has the other order tried.
func (r *reduction) race(at int) {
	taken := r.states[at]
	taken.before = bits{}
	for i := at - 1; i >= 0; i-- {
		if taken.before.has(i) || independent(r.states[i].taken, taken.taken) {
			continue
		}
		r.reverse(i, at)
		taken.before.add(i)
		taken.before.union(r.states[i].before)
	}
}

// reverse has step at also tried before step i: it adds to state i a step with which the other order can begin.
func (r *reduction) reverse(i, at int) {
	s := r.states[i]
	// The steps after i that do not depend on it, and then the step itself. They begin with one that depends on none of
	// the others.
	var free []int
	for k := i + 1; k < at; k++ {
		if !r.states[k].before.has(i) {
			free = append(free, k)
		}
	}
	free = append(free, at)
	var begin []string
	for _, k := range free {
		if !slices.ContainsFunc(free, func(other int) bool { return other < k && r.dependsOn(k, other) }) {
			begin = append(begin, r.states[k].taken.ID)
		}
	}
	for _, id := range begin {
		if id == s.taken.ID || slices.Contains(s.todo, id) || s.sleeps(id) {
			return // it is to be tried, or was
		}
	}
	for _, id := range begin {
		if n := s.find(id); n >= 0 {
			s.todo = append(s.todo, s.withRivals(s.choices[n])...)
			return
		}
	}
}

// withRivals returns a command, and the others of its client that do not commute with it. One may end another before it
// is ever carried out, as a release ends a waiting renewal. Then no schedule shows a race with the other, so it is
// tried wherever the first is.
func (s *state) withRivals(c choice) []string {
	ids := []string{c.ID}
	tried := []choice{c}
	for i := 0; i < len(tried); i++ {
		for _, other := range s.choices {
			id := other.ID
			if other.Kind == schedule.Grant && other.Who == c.Who && !independent(tried[i], other) &&
				!slices.Contains(ids, id) && !slices.Contains(s.todo, id) && !s.sleeps(id) {
				ids, tried = append(ids, id), append(tried, other)
			}
		}
	}
	return ids
}

func (r *reduction) dependsOn(k, other int) bool {
	if r.states[k].before.has(other) {
		return true
	}
	return !independent(r.states[k].taken, r.states[other].taken)
}
