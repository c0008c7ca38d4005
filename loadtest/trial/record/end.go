package record

import (
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// A lockEnd is an instant at which the trial, or the server, ended the lock of each order that held it.
type lockEnd struct {
	at  history.Instant
	why string // as in the reply of [history.EndedLock]
}

// NoteEnds notes that the trial, or the server, ends the lock of each order that holds it at a time: see
// [Bench.assignEnds].
func (b *Bench) NoteEnds(then time.Time, why string) {
	b.ends = append(b.ends, lockEnd{b.Since(then), why})
}

// assignEnds adds a note of each end to the orders that held the lock then, by what had been answered by then, and by
// the earlier ends: the next acquire shows that the lock had ended, not that it was held until then. The value of a
// lock may say that it is over; it is there all the same, or there would be nothing to end.
func (b *Bench) assignEnds(c *history.Cell) {
	for _, end := range b.ends {
		line := history.TimelineOf(until(c, end.at), history.Terms{TTL: c.TTL})
		for _, l := range line.Locks {
			if h := l.HolderAt(end.at); h.Known && h.Tenure != nil {
				op := &c.Ops[h.Tenure.Order]
				op.Trace = append(op.Trace, history.Command{Node: l.Node, Cmd: history.EndedLock, Key: l.Key, Reply: end.why,
					At: end.at, End: end.at, Source: history.Looked})
			}
		}
	}
}

// until returns a cell with the commands that had been answered by then, or that were sent by then and never answered.
func until(c *history.Cell, then history.Instant) *history.Cell {
	later := func(cmd history.Command) bool { return cmd.At > then || cmd.End > then && cmd.End.Known() }
	before := &history.Cell{Strays: slices.DeleteFunc(slices.Clone(c.Strays), later)}
	for i := range c.Ops {
		op := c.Ops[i]
		op.Trace = slices.DeleteFunc(slices.Clone(op.Trace), later)
		before.Ops = append(before.Ops, op)
	}
	return before
}
