package audit

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"stockapi/loadtest/history"
)

// clocks holds the clocks that timed a cell's orders. The instances of one host read one clock, and its times are
// compared as they are. Times of two hosts are never compared: a verdict that would need it is not judged, see
// [clocks.notJudged].
//
// A clock that was stepped while orders were sent proves nothing, and makes the cell invalid: see [clocks.stepped].
type clocks struct {
	// start is when the cell started by the wall clock, in nanoseconds; 0 if unknown.
	start int64
	// byInstance are the clocks by instance name; several instances may read one clock.
	byInstance map[string]*clock
	// used are the clocks that timed an order. unknown is an instance that timed one and is not among the cell's, or whose
	// name stands for instances with different clocks.
	used    []*clock
	unknown string
	// last is the last moment that the client recorded.
	last history.Instant
}

// A clock times orders. An instance records the times of an order after it was sent and before it was answered, so each
// order bounds the offset by which the clock is ahead of the client's:
//
//	its first moment - offset >= sent       =>  offset <= first - sent
//	its last moment - offset <= answered    =>  offset >= last - answered
type clock struct {
	id     string
	lo, hi history.Instant
	// digit is the unit of the last digit of all its times, which were truncated there: a recorded t was t+digit at the
	// latest. Truncation never reverses two times that differ.
	digit           history.Instant
	used, backwards bool
	// own means that it is the client's own clock, which has no lower bound: its times may be later than the answer.
	own bool
}

// far is later than any instant, and can be added to one without overflow.
const far = history.Instant(math.MaxInt64 / 8)

// drift is the reciprocal of the rate at which two running clocks may diverge: 500 ppm, the most that NTP corrects.
const drift = 2000

func newClocks(c *history.Cell) *clocks {
	k := &clocks{byInstance: map[string]*clock{}}
	if !c.Start.IsZero() {
		k.start = c.Start.UnixNano()
	}
	byID := map[string]*clock{}
	for _, in := range c.Instances {
		id := cmp.Or(in.Clock, "of "+cmp.Or(in.URL, in.Name))
		one := byID[id]
		if one == nil {
			one = newClock(id)
		}
		if other := k.byInstance[in.Name]; other != nil && other != one {
			k.unknown = in.Name // either of the two may have timed an order
		}
		byID[id], k.byInstance[in.Name] = one, one
		for _, o := range in.Offsets {
			one.lo, one.hi = max(one.lo, history.Instant(o.Least)), min(one.hi, history.Instant(o.Most))
			one.own = one.own || o == history.Offset{}
		}
	}
	return k
}

// newClock returns a clock about which nothing is known. No clock's digit is longer than a second.
func newClock(id string) *clock {
	return &clock{id: id, lo: -far, hi: far, digit: history.Instant(time.Second)}
}

// of returns the clock of an instance. An instance that is not among the cell's gets one of its own.
func (k *clocks) of(instance string) *clock {
	one := k.byInstance[instance]
	if one == nil {
		k.unknown = instance
		one = newClock("of " + k.unknown)
		k.byInstance[k.unknown] = one
	}
	return one
}

// narrow narrows the bounds of the clock that timed an op.
func (k *clocks) narrow(op *history.Op) {
	first, last, backwards := moments(op)
	if last == -far {
		return
	}
	c := k.of(op.Instance)
	if !c.used {
		c.used, k.used = true, append(k.used, c)
	}
	c.backwards, c.hi = c.backwards || backwards, min(c.hi, first-op.Sent)
	if op.Done.Known() {
		k.last = max(k.last, op.Done)
	}
	if op.Done.Known() && !c.own {
		c.lo = max(c.lo, last-op.Done)
	}
	for _, t := range []history.Instant{first, last} {
		for c.digit > 1 && (k.start == 0 || (k.start+int64(t))%int64(c.digit) != 0) {
			c.digit /= 10
		}
	}
}

// settle widens the bounds after the last op, when the resolution of each clock, and how long it ran, are known.
func (k *clocks) settle() {
	for _, c := range k.used {
		slack := c.digit + k.last/drift
		c.lo, c.hi = max(-far, c.lo-slack), min(far, c.hi+slack)
	}
}

// digit returns the unit of the last digit of the one clock, 0 for nanoseconds.
func (k *clocks) digit() history.Instant {
	if len(k.used) == 1 && k.used[0].digit > 1 {
		return k.used[0].digit
	}
	return 0
}

// stepped reports that a clock was stepped during the cell, "" if none is known to have been. No offset explains a
// stepped clock, unless the step was shorter than the shortest round trip and the drift.
func (k *clocks) stepped() string {
	for _, c := range k.used {
		if c.backwards || c.lo > c.hi {
			return fmt.Sprintf("the clock %q was stepped during the cell, or runs at another rate than the client's", c.id)
		}
	}
	return ""
}

// notJudged returns why the times of the cell's orders cannot be compared, "" if one clock timed them all.
func (k *clocks) notJudged() string {
	switch {
	case k.unknown != "":
		return fmt.Sprintf("not judged: it is unknown which clock instance %q reads", k.unknown)
	case len(k.used) > 1:
		return fmt.Sprintf("not judged: two hosts: the clocks %q and %q are not compared", k.used[0].id, k.used[1].id)
	}
	return ""
}
