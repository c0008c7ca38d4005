package explain

import (
	"math"

	"stockapi/loadtest/history"
)

// span is a time from call to ret, in nanoseconds after the start of the cell. Whatever it is the span of took effect
// at one moment of it, if at all.
type span struct{ call, ret int64 }

// open is the end of what may take effect at any time from its call on, or never.
const open = math.MaxInt64

// far is further away than any moment of a cell. Times are brought within it, since a forged history may hold instants
// that cannot be reckoned with.
const far = 1 << 60

func at(i history.Instant) int64 { return min(max(int64(i), -far), far) }

// spanOf makes a span of two instants, whatever a forged history says of their order.
func spanOf(from, to history.Instant) span {
	if !to.Known() {
		return span{at(from), open}
	}
	return span{min(at(from), at(to)), at(to)}
}

// times says when an order took effect.
//
// By the client's clock it did so between being sent and being answered. That is always true, but where orders wait
// for a lock all of them overlap, and a picture of it shows nothing. By the instance's own clock it did so while it
// held the lock or, without one, between its first command and its last: a much shorter time, but the times of two
// instances can be compared only if they have one clock. So the latter is used where that is known, for all orders of
// the cell or for none.
type times struct{ inside bool }

func timesOf(c *history.Cell) times {
	for _, op := range c.All() {
		if _, known := inside(op); !known && (op.Outcome == history.Sold || op.Outcome == history.Refused) {
			return times{}
		}
	}
	return times{inside: oneClock(c)}
}

// oneClock reports whether all instances that orders came to are known to have the same clock.
func oneClock(c *history.Cell) bool {
	clocks := map[string]string{}
	for _, in := range c.Instances {
		clocks[in.Name] = in.Clock
	}
	first := ""
	for _, op := range c.All() {
		clock := clocks[op.Instance]
		if first == "" {
			first = clock
		}
		if clock == "" || clock != first {
			return false
		}
	}
	return true
}

// of returns when an order that was answered took effect.
func (t times) of(op *history.Op) span {
	if s, known := inside(op); known && t.inside {
		return s
	}
	return spanOf(op.Sent, op.Done)
}

// unanswered returns when an order without an answer may have taken effect, among acts of which that is known. When it
// was sent, the client's clock alone knows; by the instances' it began, at the earliest, when all that had been answered
// by then was over.
func (t times) unanswered(op *history.Op, others []*act) span {
	if !t.inside {
		return span{at(op.Sent), open}
	}
	from, _ := extent(others)
	s := span{from, open}
	for _, a := range others {
		if a.op.Done < op.Sent {
			s.call = max(s.call, a.ret)
		}
	}
	return s
}

// extent is from the first call to the last end that is known.
func extent(acts []*act) (from, to int64) {
	from, to = far, -far
	for _, a := range acts {
		from, to = min(from, a.call), max(to, a.call)
		if a.ret != open {
			to = max(to, a.ret)
		}
	}
	return from, to
}

// inside is the time in which an order held the lock or, without one, sent commands, by its instance's clock.
func inside(op *history.Op) (span, bool) {
	if l := op.Lease; l != nil && l.ReleasedAt.Known() {
		return spanOf(l.AcquiredAt, l.ReleasedAt), true
	}
	return commands(op)
}

// commands is the time from an order's first command to its last.
func commands(op *history.Op) (span, bool) {
	s := span{open, -far}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.At.Known() && cmd.End.Known() {
			s.call, s.ret = min(s.call, at(cmd.At)), max(s.ret, at(cmd.End))
		}
	}
	return s, s.call <= s.ret
}
