package main

import (
	"slices"
	"time"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
	"stockapi/bench/worker"
)

// A step is one measurement.
type step struct {
	number    int
	round     int
	point     figures.Point
	contender contender.Contender
}

// points lists what is measured: both workloads with every number of processes, and the hot one also with every number
// of waiters. On free locks nobody waits.
func (f *runFlags) points() (points []figures.Point) {
	for _, w := range f.workloads {
		for _, p := range f.Processes {
			points = append(points, figures.Point{Workload: w, Processes: p, Waiters: f.Waiters[0]})
		}
		if w != worker.Hot {
			continue
		}
		for _, n := range f.Waiters[1:] {
			points = append(points, figures.Point{Workload: w, Processes: f.Processes[0], Waiters: n})
		}
	}
	return points
}

// main returns the point of a workload that the terminal shows in full.
func (f *runFlags) main(w worker.Workload) figures.Point {
	return figures.Point{Workload: w, Processes: f.Processes[0], Waiters: f.Waiters[0]}
}

// plan lists the measurements. Each round measures everything once. In each round another contender comes first, so
// that none always follows the same one.
func (f *runFlags) plan(contenders []contender.Contender) (steps []step) {
	for round := range f.Rounds {
		shift := round % max(len(contenders), 1)
		for _, point := range f.points() {
			for _, c := range slices.Concat(contenders[shift:], contenders[:shift]) {
				if f.takesPart(c, point) {
					steps = append(steps, step{number: len(steps), round: round + 1, point: point, contender: c})
				}
			}
		}
	}
	return steps
}

// takesPart reports whether a contender is measured at a point. The limits bound the hot workload. One worker alone is
// the same at every point.
func (f *runFlags) takesPart(c contender.Contender, p figures.Point) bool {
	switch {
	case c.Kind != contender.Limit:
		return true
	case p.Workload == worker.Free:
		return false
	default:
		return c.Shape != contender.OneWorker || p == f.main(p.Workload)
	}
}

// perStep is about what a measurement takes beside its own time: to start processes and to let the last waiters end.
const perStep = 500 * time.Millisecond

// lasts estimates how long a plan takes.
func (f *runFlags) lasts(steps int) time.Duration {
	return time.Duration(steps) * (f.For + f.warmUp() + perStep)
}

// warmUp returns how long the workers work before it counts: long enough for their connections.
func (f *runFlags) warmUp() time.Duration { return max(f.For/4, 200*time.Millisecond) }
