package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// exclusion answers whether two orders ever held the lock at once. From acquired_at to released_at an order definitely
// believed that it held the lock. So two such times that overlap are a violation, whatever the orders did: one that was
// refused for lack of stock counts like one that sold.
//
// The answer is ok only if the leases of all orders that must have had one were seen, and if an overlap would have
// shown. Orders that were served under another's lease need none of their own: see soldby.go.
func exclusion(l *leases) history.Finding {
	if len(l.all) == 0 && l.doubtful == 0 {
		return history.Finding{Verdict: history.Exclusion, Result: history.NotApplicable}
	}
	h := &violations{}
	l.overlapsWithin(true, h)
	l.overlapsAcross(true, h)
	if h.total > 0 {
		return h.broken(history.Exclusion, l.overlap)
	}
	if why := l.unsure(); why != "" {
		return found(history.Exclusion, history.Indeterminate, "%s", why)
	}
	return history.Finding{Verdict: history.Exclusion, Result: history.OK}
}

// unsure says why it is not certain that no two orders held the lock at once, or returns "".
func (l *leases) unsure() string {
	if id, yes := l.set(); yes {
		return fmt.Sprintf(wasSet, id)
	}
	h := &violations{}
	l.overlapsWithin(false, h)
	l.overlapsAcross(false, h)
	if h.total > 0 {
		return perhapsSet + l.overlap(h.first[0]).Text
	}
	if l.doubtful > 0 {
		return l.unseen() + l.doubts()
	}
	if l.unanswered > 0 {
		return fmt.Sprintf("%d orders were never answered: they may have held the lock at any time", l.unanswered)
	}
	if l.alone {
		return "no two leases can be compared: they share the lock, or each has one by itself"
	}
	if l.seen < l.due {
		return strings.TrimSuffix(l.unseen(), ": ")
	}
	if len(l.all) < 2 && l.noFaults() {
		return "a single lease overlaps nothing"
	}
	if l.clocks.unknown != "" {
		return fmt.Sprintf(unknownClock, l.clocks.unknown)
	}
	if res, median := l.resolution(), l.median(); res > median {
		return fmt.Sprintf("the clocks show overlaps of more than %s ms, and half of the leases last no longer than %s ms",
			millis(history.Instant(res)), millis(history.Instant(median)))
	}
	return ""
}

// unseen says how many leases were not seen, as the beginning of a sentence. It is empty if all were.
func (l *leases) unseen() string {
	if l.seen == l.due {
		return ""
	}
	return fmt.Sprintf("of %d orders that must have held the lock, "+
		"the lease of %d was seen from its beginning to its end: ", l.due, l.seen)
}

// overlapsWithin compares the leases of each clock. Only a clock that was set back can make such a comparison wrong,
// and then the later of the two orders was answered late by as much. With strict, that much is taken off its lease.
func (l *leases) overlapsWithin(strict bool, h *violations) {
	l.sort(func(a, b lease) int { return cmp.Compare(a.acquired, b.acquired) })
	l.eachClock(func(from, to int) { l.within(from, to, strict, h) })
}

func (l *leases) within(from, to int, strict bool, h *violations) {
	if l.clocks.bounds[l.all[from].clock].set {
		return
	}
	spans := make([]span, 0, to-from)
	for i, one := range l.all[from:to] {
		s := span{begin: one.acquired, end: one.until, lease: int32(from + i), reading: one.reading}
		if strict {
			s.begin += one.late
		}
		spans = append(spans, s)
	}
	l.overlaps(spans, false, h)
}

// overlapsAcross compares the leases of different clocks on the client's timeline: each began at the latest, and ended
// at the earliest, when its clock's bounds say so. A clock that was set forward while every order waited may be ahead
// of its bounds by then. With strict, only what is known from before and after the order counts.
func (l *leases) overlapsAcross(strict bool, h *violations) {
	if l.before == nil {
		return
	}
	spans := make([]span, 0, len(l.all))
	for i := range l.all {
		one := &l.all[i]
		b := l.clocks.bounds[one.clock]
		if b.set || b.lo <= -far || b.hi >= far {
			continue
		}
		s := span{lease: int32(i), clock: one.clock, reading: one.reading}
		s.begin, s.end = one.acquired+one.late-b.lo, one.until-b.hi
		if strict {
			s.begin = one.acquired + l.before[one.op] - b.lo
			s.end = one.until - max(b.hi, l.after[one.op])
		}
		spans = append(spans, s)
	}
	l.overlaps(spans, true, h)
}

// overlaps adds the leases that surely overlap.
func (l *leases) overlaps(spans []span, across bool, h *violations) {
	overlaps(spans, across, func(a, b *span) { h.add(l.pair(a, b)) })
}

// compareWithOthers bounds each lease's clock by other orders, since it may have been set in the middle of its own
// order: by those that ended before it was sent, and those that were sent after it had ended. A clock that was set once
// was right in one of these times, so the worse of the two bounds holds. Without orders before or after there is no
// bound.
func (l *leases) compareWithOthers() {
	if len(l.clocks.ids) < 2 || len(l.all) == 0 {
		return
	}
	l.before, l.after = make([]history.Instant, l.Len()), make([]history.Instant, l.Len())
	for i := range l.before {
		l.before[i], l.after[i] = far, far
	}
	least := make([]history.Instant, len(l.all))
	l.sort(func(a, b lease) int { return cmp.Compare(l.trips[b.op].sent, l.trips[a.op].sent) })
	l.leastSoFar(least, func(one *lease) history.Instant { return l.trips[one.op].ahead })
	l.eachClock(func(from, to int) {
		for i := from; i < to; i++ {
			done := l.trips[l.all[i].op].done
			if n := sort.Search(to-from, func(j int) bool { return l.trips[l.all[from+j].op].sent < done }); n > 0 {
				l.after[l.all[i].op] = least[from+n-1]
			}
		}
	})
	l.sort(func(a, b lease) int { return cmp.Compare(l.trips[a.op].done, l.trips[b.op].done) })
	over := func(from, to int, sent history.Instant) int {
		return sort.Search(to-from, func(j int) bool { return l.trips[l.all[from+j].op].done > sent })
	}
	l.leastSoFar(least, func(one *lease) history.Instant { return l.trips[one.op].ahead })
	l.eachClock(func(from, to int) {
		for i := from; i < to; i++ {
			one := &l.all[i]
			t := l.trips[one.op]
			before := t.ahead
			if n := over(from, to, t.sent); n > 0 {
				before = least[from+n-1]
			}
			l.after[one.op] = max(l.after[one.op], before)
		}
	})
	l.leastSoFar(least, func(one *lease) history.Instant { return one.late })
	l.eachClock(func(from, to int) {
		for i := from; i < to; i++ {
			one := &l.all[i]
			if n := over(from, to, l.trips[one.op].sent); n > 0 {
				l.before[one.op] = max(one.late, least[from+n-1])
			}
		}
	})
	for i := range l.all { // a clock that was read before and after the cell needs no other orders
		one := &l.all[i]
		if b := l.clocks.bounds[one.clock]; b.steady {
			l.before[one.op], l.after[one.op] = one.late, b.hi
		}
	}
}

// leastSoFar computes, for each lease, the least value of it and of those before it with the same clock.
func (l *leases) leastSoFar(least []history.Instant, of func(*lease) history.Instant) {
	for i := range l.all {
		least[i] = of(&l.all[i])
		if i > 0 && l.all[i-1].clock == l.all[i].clock {
			least[i] = min(least[i], least[i-1])
		}
	}
}

// sort sorts the leases by clock, and those of one clock by that comparison.
func (l *leases) sort(by func(a, b lease) int) {
	slices.SortFunc(l.all, func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), by(a, b), cmp.Compare(a.op, b.op))
	})
}

// eachClock calls do for the leases of each clock, once they are sorted.
func (l *leases) eachClock(do func(from, to int)) {
	for from := 0; from < len(l.all); {
		to := from
		for to < len(l.all) && l.all[to].clock == l.all[from].clock {
			to++
		}
		do(from, to)
		from = to
	}
}

// pair returns the violation of two spans: its time by the client's clock, for sorting, and for how long at least both
// held the lock.
func (l *leases) pair(a, b *span) violation {
	x, y := &l.all[a.lease], &l.all[b.lease]
	at := max(a.begin, b.begin)
	long := min(x.until-x.acquired, y.until-y.acquired, a.end-b.begin, b.end-a.begin)
	if x.clock == y.clock {
		at = max(x.acquired, y.acquired)
		long = min(x.until, y.until) - at
		if lo := l.clocks.bounds[x.clock].lo; lo > -far {
			at -= lo
		}
	}
	return violation{at: at, a: x.op, b: y.op, value: int64(long)}
}

// overlap puts a violation into words.
func (l *leases) overlap(h violation) history.Evidence {
	a, b := *l.At(int(h.a)), *l.At(int(h.b))
	from, to := l.clocks.bounds[l.clocks.of(a.Instance)], l.clocks.bounds[l.clocks.of(b.Instance)]
	one := l.clocks.of(a.Instance) == l.clocks.of(b.Instance)
	var long, known string
	if one {
		h.at = max(a.Lease.AcquiredAt, b.Lease.AcquiredAt)
	}
	if h.value > 0 {
		long = fmt.Sprintf(" for %s ms", millis(history.Instant(h.value)))
	}
	if !one {
		known = fmt.Sprintf(", clocks known to %s ms", millis(from.hi-from.lo+to.hi-to.lo))
		if h.value > 0 {
			long = fmt.Sprintf(" for at least %s ms", millis(history.Instant(h.value)))
		}
	}
	return history.Evidence{
		Text: fmt.Sprintf("%s on %s and %s on %s both held the lock%s at %s%s",
			order(l.Cell, &a), instance(l.Cell, &a), order(l.Cell, &b), instance(l.Cell, &b), long, h.at, known),
		Orders: []string{a.Order, b.Order}, Instances: []string{a.Instance, b.Instance},
		At: []history.Instant{h.at, h.at + history.Instant(h.value)},
	}
}

// millis renders a time in ms. It shows zero only for zero.
func millis(d history.Instant) string {
	if d != 0 && -time.Microsecond < time.Duration(d) && time.Duration(d) < time.Microsecond {
		return fmt.Sprintf("%.6f", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond))
}

// median returns the median length of the leases that take any time.
func (l *leases) median() time.Duration {
	return quantile(l.all, 1, 2, func(one *lease) (long history.Instant, counts bool) {
		return one.until - one.acquired, one.until > one.acquired
	})
}

// resolution returns how long two leases must overlap to be noticed whatever their clocks, for nine of ten leases. It
// is the sum of the two widest bounds. If there is only one clock, it is the last digit that the clock has.
func (l *leases) resolution() time.Duration {
	var worst, second time.Duration
	n := 0
	l.sort(func(a, b lease) int { return cmp.Compare(a.acquired, b.acquired) })
	l.eachClock(func(from, to int) {
		n++
		b, width := l.clocks.bounds[l.all[from].clock], time.Duration(far)
		if !b.set && b.lo > -far && b.hi < far {
			late := func(one *lease) (history.Instant, bool) { return one.late, true }
			width = time.Duration(b.hi-b.lo) + quantile(l.all[from:to], 9, 10, late)
		}
		switch {
		case width > worst:
			worst, second = width, worst
		case width > second:
			second = width
		}
	})
	if n == 1 {
		return time.Duration(l.clocks.bounds[l.all[0].clock].digit)
	}
	return worst + second
}

// quantile returns the n/m quantile.
func quantile(ls []lease, n, m int, of func(*lease) (history.Instant, bool)) time.Duration {
	values := make([]history.Instant, 0, len(ls))
	for i := range ls {
		if v, counts := of(&ls[i]); counts {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return time.Duration(values[(len(values)-1)*n/m])
}
