package main

import (
	"slices"
	"time"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

// A step is one measurement.
type step struct {
	number    int
	round     int
	workload  worker.Workload
	waiters   int
	contender contender.Contender
}

// plan lists the measurements. Each round measures everything once. In each round another contender comes first, so
// that none always follows the same one.
func (f *flags) plan(contenders []contender.Contender) (steps []step) {
	for round := range f.Rounds {
		shift := round % max(len(contenders), 1)
		for i, waiters := range f.Waiters {
			for _, w := range []worker.Workload{worker.Free, worker.Hot} {
				for _, c := range slices.Concat(contenders[shift:], contenders[:shift]) {
					if takesPart(c, w, i == 0) {
						steps = append(steps, step{len(steps), round + 1, w, waiters, c})
					}
				}
			}
		}
	}
	return steps
}

// takesPart reports whether a contender is measured. On free locks nobody waits, and one worker alone is the same with
// any number of waiters: the first of these numbers is enough. The limits bound the hot workload.
func takesPart(c contender.Contender, w worker.Workload, first bool) bool {
	if w == worker.Free {
		return first && c.Kind != contender.Limit
	}
	return first || c.Shape != contender.OneWorker
}

// perStep is about what a measurement takes beside its own time: to open connections and to let the last waiters end.
const perStep = 250 * time.Millisecond

// lasts estimates how long a number of measurements takes.
func (f *flags) lasts(steps int) time.Duration {
	return (time.Duration(steps) * (f.For + f.warmUp() + perStep)).Round(time.Second)
}

// warmUp returns how long the workers work before it counts: long enough for their connections.
func (f *flags) warmUp() time.Duration { return max(f.For/4, 200*time.Millisecond) }
