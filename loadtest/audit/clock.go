package audit

import (
	"math"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// clocks bounds, from a history alone, how far each instance's clock is ahead of the client's. An instance records the
// times of an order after the order was sent and before it was answered. So with the offset defined as "instance minus
// client":
//
//	its first moment - offset >= sent       =>  offset <= first - sent
//	its last moment - offset <= answered    =>  offset >= last - answered
//
// Every order with a lease or a trace narrows the bounds. The best one leaves an uncertainty of about the shortest
// round trip without waiting.
//
// Times that were cut off after some digit, such as milliseconds, widen both bounds by one of it.
//
// This holds for a clock that runs on. A clock that was set during the cell has no constant offset. If the bounds
// exclude each other, or a time runs backwards within an order, that is known, and no two times of that clock are
// compared. A clock that was set back while every order waited leaves another trace: from then on every answer seems to
// come late, or to have been sent early. See [clocks.late] and [clocks.ahead].
type clocks struct {
	// start is the beginning of the cell by the wall clock, in nanoseconds; 0 if it is not known.
	start int64
	// ids are the clocks' ids by number. byInstance maps an instance's name to the number of its clock.
	ids        []string
	byInstance map[string]int32
	byID       map[string]int32
	bounds     []bound
	// unknown is an instance that is not among the cell's instances.
	unknown string
}

// A bound is a closed range of nanoseconds. set means that no constant offset explains the clock, locks that leases
// were timed by it, and steady that it was read before and after the orders, with the same offset.
type bound struct {
	lo, hi history.Instant
	set    bool
	locks  bool
	steady bool
	// digit is the unit of the last digit of all its times, which were cut off there: what it says was at t was at t+digit
	// at the latest. 0: they have nanoseconds, or nothing is known. lo and hi allow for it. Two times of one clock that
	// differ are in that order, whatever was cut off.
	digit history.Instant
	// points counts the refusals' leases that end when they begin.
	points int
}

const unknownClock = "the instance %q was not asked who it is: its clock is not known"

// far is beyond every instant, and can be added to one.
const far = history.Instant(math.MaxInt64 / 8)

func newClocks(c *history.Cell) *clocks {
	k := &clocks{byInstance: map[string]int32{}, byID: map[string]int32{}}
	if !c.Start.IsZero() {
		k.start = c.Start.UnixNano()
	}
	for _, in := range c.Instances {
		id := in.Clock
		if id == "" {
			id = "of " + in.Name
		}
		k.byInstance[in.Name] = k.number(id)
	}
	for _, in := range c.Instances {
		k.ask(in)
	}
	return k
}

// ask narrows the bounds by the readings of an instance's clock before and after the cell's orders. If it was set in
// between, the readings differ. A clock that was set twice, there and back, is not considered.
func (k *clocks) ask(in history.Instance) {
	if len(in.Offsets) < 2 {
		return
	}
	least, most := -far, far
	for _, o := range in.Offsets {
		least, most = max(least, history.Instant(o.Least)), min(most, history.Instant(o.Most))
	}
	if least > most {
		return
	}
	b := &k.bounds[k.byInstance[in.Name]]
	b.steady, b.lo, b.hi = true, max(b.lo, least), min(b.hi, most)
}

func (k *clocks) number(id string) int32 {
	n, known := k.byID[id]
	if !known {
		n = int32(len(k.ids))
		k.byID[id] = n
		k.ids = append(k.ids, id)
		k.bounds = append(k.bounds, bound{lo: -far, hi: far})
	}
	return n
}

// of returns the number of an instance's clock. An instance without a clock id, or that is not among the cell's, has
// its own clock.
func (k *clocks) of(instance string) int32 {
	if n, known := k.byInstance[instance]; known {
		return n
	}
	instance = strings.Clone(instance)
	if k.unknown == "" {
		k.unknown = instance
	}
	n := k.number("of " + instance)
	k.byInstance[instance] = n
	return n
}

// narrow narrows the bounds by one op.
func (k *clocks) narrow(op *history.Op) {
	if op.Lease == nil && len(op.Trace) == 0 {
		return
	}
	b := &k.bounds[k.of(op.Instance)]
	first, last, backwards := moments(op)
	if last == -far {
		return
	}
	b.locks = b.locks || op.Lease != nil
	b.hi = min(b.hi, first-op.Sent)
	if op.Done.Known() {
		b.lo = max(b.lo, last-op.Done)
	}
	b.set = b.set || backwards
	if b.digit == 0 {
		b.digit = coarsest
	}
	for _, t := range []history.Instant{first, last} {
		for b.digit > 1 && (k.start == 0 || (k.start+int64(t))%int64(b.digit) != 0) {
			b.digit /= 10
		}
	}
}

// coarsest is the longest digit that a clock can have.
const coarsest = history.Instant(time.Second)

// settle ends the pass over all ops: now it is known how far the clocks' times were cut off.
func (k *clocks) settle() {
	for i := range k.bounds {
		b := &k.bounds[i]
		if b.digit <= 1 {
			b.digit = 0
		}
		b.hi = min(far, b.hi+b.digit)
		b.set = b.set || b.lo > b.hi
		b.lo = max(-far, b.lo-b.digit)
	}
}

// moments returns the first and the last moment that an instance recorded of an op, and whether any time in it runs
// backwards.
func moments(op *history.Op) (first, last history.Instant, backwards bool) {
	first, last = far, -far
	see := func(from, to history.Instant) {
		if !from.Known() || !to.Known() {
			return
		}
		first, last = min(first, from), max(last, to)
		backwards = backwards || to < from
	}
	if op.Lease != nil {
		see(op.Lease.AcquiredAt, until(op.Lease))
	}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; !cmd.Woken() {
			see(cmd.At, cmd.End)
		}
	}
	return first, last, backwards
}

// late returns how much later an op's answer seems to have come than the promptest of the same clock, as far as is
// known, plus how far the client's own clock was set back meanwhile. An order that came after the clock was set back is
// late by at least as much: so it proves nothing that setting the clock explains.
func (k *clocks) late(op *history.Op) history.Instant {
	if !op.Done.Known() {
		return 0
	}
	var late history.Instant
	if _, last, _ := moments(op); last != -far {
		if b := &k.bounds[k.of(op.Instance)]; !b.steady {
			late = max(0, b.lo+b.digit-(last-op.Done))
		}
	}
	if op.Latency > 0 {
		late += max(0, history.Instant(op.Latency)-(op.Done-op.Due))
	}
	return late
}

// ahead returns how far an op's clock can have been ahead of the client's during the op, judged by that op alone.
func (k *clocks) ahead(op *history.Op) history.Instant {
	if first, _, _ := moments(op); first != far {
		return first + k.bounds[k.of(op.Instance)].digit - op.Sent
	}
	return far
}

// set returns a clock that was set during the cell, of those that are used.
func (k *clocks) set(used func(clock int32) bool) (id string, yes bool) {
	for n := range k.bounds {
		if k.bounds[n].set && used(int32(n)) {
			return k.ids[n], true
		}
	}
	return "", false
}

// wasSet and perhapsSet say why the clocks decide nothing.
const (
	wasSet = "the clock %q was set during the cell, or does not run as the client's does: " +
		"its times cannot be compared"
	perhapsSet = "unless a clock was set during the cell, which late answers leave open: "
)

// until returns the last moment at which the holder is known to have believed in its lease.
func until(l *history.Lease) history.Instant {
	if l.ReleasedAt.Known() {
		return l.ReleasedAt
	}
	return l.AcquiredAt
}
