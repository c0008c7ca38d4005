package terminal

import (
	"fmt"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A pace measures how long cells take, and estimates how long the rest will.
type pace struct {
	began          time.Time
	crowds, faults phase
}

// A phase holds the cells of one kind: those with a crowd come first, and those with a fault run side by side.
type phase struct {
	left, done int
	began      time.Time
	// usual is the time that a cell takes on two cores. It counts as much as that of some cells, since the first ones that
	// finish say little.
	usual time.Duration
	some  int
}

func newPace(now time.Time) pace {
	return pace{
		began: now, crowds: phase{usual: 750 * time.Millisecond, some: 4},
		faults: phase{usual: 150 * time.Millisecond, some: 16},
	}
}

// expect sets which cells will finish.
func (p *pace) expect(specs []catalog.Spec, now time.Time) {
	for _, s := range specs {
		if s.Scenario.Fault() {
			p.faults.left++
		} else {
			p.crowds.left++
		}
	}
	p.crowds.began, p.faults.began = now, now
}

func (p *pace) finished(c *history.Cell, now time.Time) {
	if s, _ := catalog.Find(c.Scenario); s.Fault() {
		p.faults.left, p.faults.done = p.faults.left-1, p.faults.done+1
		return
	}
	p.crowds.left, p.crowds.done = p.crowds.left-1, p.crowds.done+1
	p.faults.began = now
}

// rest estimates how long the cells of the phase that are left take. under reports whether it has begun.
func (p *phase) rest(now time.Time, under bool) time.Duration {
	taken := time.Duration(p.some) * p.usual
	if under {
		taken += now.Sub(p.began)
	}
	return time.Duration(p.left) * taken / time.Duration(p.some+p.done)
}

// leastRest is the shortest rest that is told.
const leastRest = 5 * time.Second

// text tells the time that has passed, and about how much is left.
func (p *pace) text(now time.Time) string {
	passed := now.Sub(p.began)
	rest := p.crowds.rest(now, true) + p.faults.rest(now, p.crowds.left == 0)
	switch {
	case p.crowds.left+p.faults.left == 0 || rest < leastRest:
		return minutes(passed)
	case rest < time.Minute:
		rest = rest.Round(leastRest)
	default:
		rest = rest.Round(10 * time.Second)
	}
	return minutes(passed) + ", about " + minutes(rest) + " left"
}

// minutes renders a duration as minutes and seconds.
func minutes(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
