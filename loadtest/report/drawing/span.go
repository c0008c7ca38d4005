package drawing

import (
	"math"
	"slices"

	"stockapi/loadtest/history"
)

// A span is the time from lo to hi, in nanoseconds after the start of the cell. They are floats because a forged
// history may hold instants whose difference overflows an int64.
type span struct{ lo, hi float64 }

func noSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s span) empty() bool { return s.lo > s.hi }

func (s span) length() float64 { return s.hi - s.lo }

func (s span) meets(t span) bool { return s.lo <= t.hi && t.lo <= s.hi }

// include widens the span to the instants that are known.
func (s *span) include(at ...history.Instant) {
	for _, i := range at {
		if i.Known() {
			s.lo, s.hi = min(s.lo, float64(i)), max(s.hi, float64(i))
		}
	}
}

func (s *span) join(t span) { s.lo, s.hi = min(s.lo, t.lo), max(s.hi, t.hi) }

// times returns the ends of the span, with never for an infinite one.
func (s span) times() (from, to Time) {
	in := func(ns float64) Time {
		if math.IsInf(ns, 0) {
			return never
		}
		return inMillis(ns)
	}
	return in(s.lo), in(s.hi)
}

// worked reports whether the order is known to have held the lock or used the stock.
func worked(op *history.Op) bool {
	atWork := func(cmd history.Command) bool { return onStock(&cmd) || cmd.Fault() }
	return op.Lease != nil || slices.ContainsFunc(op.Trace, atWork)
}

// active returns the time in which an order held the lock or used the stock or, if unknown, the time from its request
// to its answer.
func active(op *history.Op) span { return activeUnder(op, op.Lease) }

func activeUnder(op *history.Op, lease *history.Lease) span {
	s := noSpan()
	if lease != nil {
		s.include(lease.AcquiredAt, lease.ReleasedAt)
	}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; onStock(cmd) || cmd.Fault() {
			s.include(cmd.At, cmd.End)
		}
	}
	if s.empty() {
		s = underWay(op)
	}
	return s
}

// tenure returns the active time of an order from its lease on: before that, it only waited.
func tenure(op *history.Op, lease *history.Lease) span {
	s := activeUnder(op, lease)
	if lease != nil && lease.AcquiredAt.Known() {
		s.lo = min(float64(lease.AcquiredAt), s.hi)
	}
	return s
}

// underWay returns the time from the request to its answer.
func underWay(op *history.Op) span {
	s := noSpan()
	s.include(op.Sent, op.Done)
	if s.empty() {
		s.include(0)
	}
	return s
}

func onStock(cmd *history.Command) bool { return cmd.ReadsStock() || cmd.WritesStock() }
