package audit

import (
	"fmt"
	"slices"
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
	if why := l.clocks.notAsked(); why != "" {
		return found(history.Exclusion, history.NotApplicable, "%s", why)
	}
	if h := l.overlaps(); h.total > 0 {
		return h.broken(history.Exclusion, l.overlap)
	}
	if why := l.unsure(); why != "" {
		return found(history.Exclusion, history.Indeterminate, "%s", why)
	}
	return history.Finding{Verdict: history.Exclusion, Result: history.OK}
}

// unsure says why it is not certain that no two orders held the lock at once, or returns "".
func (l *leases) unsure() string {
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

// overlaps returns each lease that overlaps one before it, with the one of those that ends last: it began before the
// other ended. Readers share the lock with each other.
func (l *leases) overlaps() *violations {
	h := &violations{}
	holder, writer := -1, -1 // of those before, the one that ends last
	later := func(i, than int) bool { return than < 0 || l.all[i].until > l.all[than].until }
	for i, one := range l.all {
		before := holder
		if one.reading {
			before = writer
		}
		if before >= 0 && l.all[before].until > one.acquired {
			h.add(violation{at: one.acquired, a: l.all[before].op, b: one.op})
		}
		if later(i, holder) {
			holder = i
		}
		if !one.reading && later(i, writer) {
			writer = i
		}
	}
	return h
}

// overlap puts a violation into words.
func (l *leases) overlap(h violation) history.Evidence {
	a, b := *l.At(int(h.a)), *l.At(int(h.b))
	end := min(a.Lease.Until(), b.Lease.Until())
	long := ""
	if end > h.at {
		long = fmt.Sprintf(" for %s ms", millis(end-h.at))
	}
	return evidence(l.refusedLate(&a, &b)+fmt.Sprintf("%s on %s and %s on %s both held the lock%s at %s",
		order(l.Cell, &a), instance(l.Cell, &a), order(l.Cell, &b), instance(l.Cell, &b), long, h.at),
		[]history.Instant{h.at, max(h.at, end)}, &a, &b)
}

// refusedLate says that the stock refused what one of two holders wrote, as the beginning of a sentence. It is empty if
// the stock refused neither.
func (l *leases) refusedLate(a, b *history.Op) string {
	refused := func(op *history.Op) bool {
		return slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return cmd.RefusedByStock() })
	}
	if refused(b) {
		a, b = b, a
	}
	if !refused(a) {
		return ""
	}
	text := fmt.Sprintf("the stock refused %s's late write", order(l.Cell, a))
	if l.stockSafe {
		text = "lock broken, stock safe: " + text
	}
	if a.Lease.Fence != 0 && a.Lease.Fence < b.Lease.Fence {
		text += fmt.Sprintf(" (token %d < %d)", l.Ordinal(a.Lease.Fence), l.Ordinal(b.Lease.Fence))
	}
	return text + "; "
}

// millis renders a time in ms. It shows zero only for zero.
func millis(d history.Instant) string {
	if d != 0 && -time.Microsecond < time.Duration(d) && time.Duration(d) < time.Microsecond {
		return fmt.Sprintf("%.6f", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond))
}
