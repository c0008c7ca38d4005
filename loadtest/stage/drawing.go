package stage

import (
	"maps"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

const (
	// drawGap is the shortest interval between two drawings of a round. It grows by drawGap for every drawCommands
	// commands, since they make a drawing large.
	drawGap      = 125 * time.Millisecond
	drawCommands = 200
)

// tellSoFar sends newly broken verdicts and a new drawing to the wall, if the orders have changed. Once all have ended
// it sends none: the verdict has its own, and they must not follow it.
func (s *shop) tellSoFar() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if s.judge.due {
		s.judgeSoFar()
	}
	if s.redraw && time.Now().After(s.drawNext) {
		s.draw(s.judge.findings)
	}
}

// cellSoFar returns the cell of the round so far. The caller holds s.mu.
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

// draw records the drawing of the round so far, with these findings. It omits the faults, which have events of their
// own. The caller holds s.mu.
func (s *shop) draw(findings []history.Finding) {
	d := s.lanes(findings)
	d.Faults = nil
	s.redraw, s.drawNext = false, time.Now().Add(drawGap*time.Duration(1+len(d.Commands)/drawCommands))
	s.record.add("drawing", event{"begins": s.record.since(s.cell.Start), "drawing": d})
}

// lanes returns the wall's drawing of the round so far, with these findings. It omits the texts: they are English, and
// the wall may not be. The caller holds s.mu.
func (s *shop) lanes(findings []history.Finding) *drawing.Drawing {
	cell := s.cellSoFar()
	cell.Findings = findings
	for i, o := range s.orders {
		if op := &cell.Ops[i]; len(op.Trace) <= len(o.ends) { // its process died before it returned its trace
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
		d.Orders[i].Fence = o.fence // also for those in flight
	}
	return d
}
