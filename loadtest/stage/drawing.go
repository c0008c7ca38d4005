package stage

import (
	"maps"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

const (
	// drawGap is the least time between two drawings of a round. Each of so many commands adds as much again, since a
	// drawing of many is long.
	drawGap      = 125 * time.Millisecond
	drawCommands = 200
)

// tellSoFar tells the wall what is known of the orders by now, if that has changed: which verdicts they have broken,
// and their drawing.
func (s *shop) tellSoFar() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.judge.due {
		s.judgeSoFar()
	}
	if s.redraw && time.Now().After(s.drawNext) {
		s.draw(s.judge.findings)
	}
}

// cellSoFar returns the round as it is known by now. The caller has the lock.
func (s *shop) cellSoFar() *history.Cell {
	cell := s.judge.cell
	cell.Faults = slices.Clone(s.cell.Faults)
	for _, o := range s.orders {
		cell.Ops = append(cell.Ops, s.soFar(o))
	}
	for _, id := range slices.Sorted(maps.Keys(s.strays)) {
		cell.Strays = append(cell.Strays, s.strays[id])
	}
	return &cell
}

// draw records the drawing of the round so far, with these findings. The faults are events of their own, of which the
// wall has the words. The caller has the lock.
func (s *shop) draw(findings []history.Finding) {
	d := s.lanes(findings)
	d.Faults = nil
	s.redraw, s.drawNext = false, time.Now().Add(drawGap*time.Duration(1+len(d.Commands)/drawCommands))
	s.record.add("drawing", event{"begins": s.record.since(s.cell.Start), "drawing": d})
}

// lanes returns what the wall's lanes show of the round so far, with these findings, and without texts, which are in
// one language. The caller has the lock.
func (s *shop) lanes(findings []history.Finding) *drawing.Drawing {
	cell := s.cellSoFar()
	cell.Findings = findings
	for i, o := range s.orders {
		if op := &cell.Ops[i]; len(op.Trace) <= len(o.ends) { // its process died, and told no commands
			op.Trace = slices.Concat(o.trace, o.ends)
		}
	}
	d := drawing.Of(cell)
	d.Notes = nil
	d.Commands = slices.DeleteFunc(d.Commands, func(c drawing.Command) bool { return c.Order < 0 })
	for i := range d.Commands {
		c := &d.Commands[i]
		c.Text, c.Effect, c.Node, c.Says = "", "", "", ""
	}
	for i := range d.Orders {
		if lost := d.Orders[i].Lost; lost != nil {
			lost.Why = ""
		}
	}
	for i, o := range s.orders {
		d.Orders[i].Fence = o.fence // also of those in flight
	}
	return d
}
