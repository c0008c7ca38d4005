package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"stockapi/loadtest/history"
)

// exclusion answers whether ever two orders held the lock at once. The time from acquired_at to released_at is a
// time in which an order definitely believed to hold it, so two that overlap are a violation, whatever each of
// them then did: an order that was refused for lack of stock counts as much as one that sold.
//
// It is ok only if the leases were seen of all that must have had one, and if an overlap of theirs would have shown.
func exclusion(l *leases) history.Finding {
	if len(l.all) == 0 {
		return history.Finding{Verdict: history.Exclusion, Result: history.NotApplicable}
	}
	h := &hits{}
	l.overlapsWithin(true, h)
	l.overlapsAcross(true, h)
	if h.total > 0 {
		return h.broken(history.Exclusion, l.overlap)
	}
	if why := l.unsure(); why != "" {
		return found(history.Exclusion, history.Unclear, "%s", why)
	}
	return history.Finding{Verdict: history.Exclusion, Result: history.OK}
}

// unsure is why it cannot be said that no two held the lock at once, or "".
func (l *leases) unsure() string {
	if id, yes := l.set(); yes {
		return fmt.Sprintf(wasSet, id)
	}
	h := &hits{}
	l.overlapsWithin(false, h)
	l.overlapsAcross(false, h)
	if h.total > 0 {
		return perhapsSet + l.overlap(h.first[0]).Text
	}
	if l.unanswered > 0 {
		return fmt.Sprintf("%d orders were never answered: they may have held the lock at any time", l.unanswered)
	}
	if l.seen < l.due {
		return fmt.Sprintf("of %d orders that must have held the lock, the lease of %d was seen from its beginning to its end",
			l.due, l.seen)
	}
	if len(l.all) < 2 && l.crowd() {
		return "a single lease overlaps nothing"
	}
	if l.clocks.stranger != "" {
		return fmt.Sprintf(strangersClock, l.clocks.stranger)
	}
	if res, median := l.resolution(), l.median(); res > median {
		return fmt.Sprintf("the clocks show overlaps of more than %s ms, and half of the leases last no longer than %s ms",
			millis(history.Instant(res)), millis(history.Instant(median)))
	}
	return ""
}

// overlapsWithin holds the leases of each clock against each other. Both are by the same clock, so only one that was
// set can deceive. The one of the two that came later would then have been answered late, by as much as the clock was
// set back. So with strict, as much is taken off the lease.
func (l *leases) overlapsWithin(strict bool, h *hits) {
	l.sort(func(a, b lease) int { return cmp.Compare(a.acquired, b.acquired) })
	l.eachClock(func(from, to int) { l.within(from, to, strict, h) })
}

func (l *leases) within(from, to int, strict bool, h *hits) {
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
	overlaps(spans, false, func(a, b *span) { h.add(l.pair(a, b)) })
}

// overlapsAcross holds the leases of different clocks against each other, on the client's timeline: each began at the
// latest, and ended at the earliest, when its clock's bounds say so. A clock that was set forward while everybody
// waited may be ahead of its bounds by then. So with strict, only what is known from before and after the order counts.
func (l *leases) overlapsAcross(strict bool, h *hits) {
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
	overlaps(spans, true, func(a, b *span) { h.add(l.pair(a, b)) })
}

// compareWithOthers bounds each lease's clock by other orders than its own, in the middle of which it may have been
// set: by those that were over before it was sent, and those that were sent after it was over. A clock that was set
// once ran on in the one time or in the other, so the worse of what the two tell holds. Without anybody before, or
// after, nothing does.
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
	for i := range l.all { // a clock that was asked itself, before the cell and after it, needs no such witnesses
		one := &l.all[i]
		if b := l.clocks.bounds[one.clock]; b.steady {
			l.before[one.op], l.after[one.op] = one.late, b.hi
		}
	}
}

// leastSoFar fills in, for each lease, the least that it or one before it of the same clock has.
func (l *leases) leastSoFar(least []history.Instant, of func(*lease) history.Instant) {
	for i := range l.all {
		least[i] = of(&l.all[i])
		if i > 0 && l.all[i-1].clock == l.all[i].clock {
			least[i] = min(least[i], least[i-1])
		}
	}
}

// sort sorts the leases by clock, and those of one by that.
func (l *leases) sort(by func(a, b lease) int) {
	slices.SortFunc(l.all, func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), by(a, b), cmp.Compare(a.op, b.op))
	})
}

// eachClock calls do with the leases of each clock, once they are sorted.
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

// pair is the hit of two spans: when it was by the client's clock, for the order of hits, and for how long both held
// the lock, at least.
func (l *leases) pair(a, b *span) hit {
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
	return hit{at: at, a: x.op, b: y.op, value: int64(long)}
}

// overlap puts a violation into words.
func (l *leases) overlap(h hit) history.Evidence {
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

// millis renders a time in ms with so many decimals that it is not zero unless it is.
func millis(d history.Instant) string {
	if d != 0 && -time.Microsecond < time.Duration(d) && time.Duration(d) < time.Microsecond {
		return fmt.Sprintf("%.6f", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond))
}

// median returns how long half of the leases last at most, of those that take time at all.
func (l *leases) median() time.Duration {
	return quantile(l.all, 1, 2, func(one *lease) (long history.Instant, counts bool) {
		return one.until - one.acquired, one.until > one.acquired
	})
}

// resolution returns how much two leases must overlap so that it shows, whatever clocks they are of: nine of ten do. It
// is the widths of the two clocks that are known worst, and 0 where there is one clock alone.
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
	if n < 2 {
		return 0
	}
	return worst + second
}

// quantile returns what n of m are not above.
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
