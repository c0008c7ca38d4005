package porcupine

import (
	"math"

	"stockapi/loadtest/history"
)

// A span is the time from call to ret, in nanoseconds after the start of the cell. Its operation took effect at one
// moment of it, if at all.
type span struct{ call, ret int64 }

// noEnd is the end of an operation that may take effect at any time from its call on, or never.
const noEnd = math.MaxInt64

// far is later than any moment of a cell. Times are limited to it, because a forged history may hold instants whose
// sums overflow.
const far = 1 << 60

func at(i history.Instant) int64 { return min(max(int64(i), -far), far) }

// spanOf makes a span of two instants, in whichever order a forged history gives them.
func spanOf(from, to history.Instant) span {
	if !to.Known() {
		return span{at(from), noEnd}
	}
	return span{min(at(from), at(to)), at(to)}
}

// times says within which span an order took effect.
//
// By the client's clock it took effect between being sent and being answered. That is always true, but orders that wait
// for a lock all overlap, and a picture of them shows nothing. By the instance's clock it took effect while the order
// held the lock or, without a lock, between its first command and its last. That is a much shorter time, but the times
// of two instances can be compared only if they have one clock. So the instances' clocks are used if that is known, for
// all orders of the cell or for none.
type times struct{ byInstances bool }

func timesOf(c *history.Cell) times {
	for _, op := range c.All() {
		if _, known := atWork(op); !known && (op.Outcome == history.Sold || op.Outcome == history.Refused) {
			return times{}
		}
	}
	return times{byInstances: oneClock(c)}
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
	if s, known := atWork(op); known && t.byInstances {
		return s
	}
	return spanOf(op.Sent, op.Done)
}

// unanswered returns the span of an order without an answer, given the operations of answered orders. When it was sent
// is known by the client's clock alone. By the instances' clock it began, at the earliest, when all orders that had
// been answered by then were over.
func (t times) unanswered(op *history.Op, others []*operation) span {
	if !t.byInstances {
		return span{at(op.Sent), noEnd}
	}
	from, _ := extent(others)
	s := span{from, noEnd}
	for _, a := range others {
		if a.op.Done < op.Sent {
			s.call = max(s.call, a.ret)
		}
	}
	return s
}

// extent returns the first call and the last known end.
func extent(operations []*operation) (from, to int64) {
	from, to = far, -far
	for _, a := range operations {
		from, to = min(from, a.call), max(to, a.call)
		if a.ret != noEnd {
			to = max(to, a.ret)
		}
	}
	return from, to
}

// atWork returns the time in which an order held the lock or, without a lock, sent commands, by its instance's clock.
// It is not known of an order that was served under another's lease: that one sent the commands.
func atWork(op *history.Op) (span, bool) {
	if op.SoldBy != "" && op.Lease == nil {
		return span{}, false
	}
	if l := op.Lease; l != nil && l.ReleasedAt.Known() {
		return spanOf(l.AcquiredAt, l.ReleasedAt), true
	}
	return commands(op)
}

// commands returns the time from an order's first command to its last.
func commands(op *history.Op) (span, bool) {
	s := span{noEnd, -far}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.At.Known() && cmd.End.Known() {
			s.call, s.ret = min(s.call, at(cmd.At)), max(s.ret, at(cmd.End))
		}
	}
	return s, s.call <= s.ret
}
