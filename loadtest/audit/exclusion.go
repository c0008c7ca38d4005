package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// exclusion judges whether two orders ever held the lock at once. From acquired_at to released_at an order certainly
// believed that it held the lock, so two spans that overlap are a violation, even if the orders were refused for lack
// of stock.
//
// It is ok only if the leases of all orders that must have held the lock were seen, and an overlap would have shown.
// Orders that were served under a seller's lease need none of their own: see soldby.go.
func exclusion(b *books) history.Finding {
	if len(b.leases) == 0 && b.doubtful == 0 {
		return history.Finding{Verdict: history.Exclusion, Result: history.NotApplicable}
	}
	if why := b.clocks.notJudged(); why != "" {
		return answer(history.Exclusion, history.NotApplicable, "%s", why)
	}
	if h := b.overlaps(); h.total > 0 {
		return h.broken(history.Exclusion, b.overlap)
	}
	if why := b.unsure(); why != "" {
		return answer(history.Exclusion, history.Indeterminate, "%s", why)
	}
	return history.Finding{Verdict: history.Exclusion, Result: history.OK}
}

// unsure returns why it is uncertain that no two orders held the lock at once, "" if it is certain.
func (b *books) unsure() string {
	if b.doubtful > 0 {
		return b.unseen() + b.doubts()
	}
	if b.unanswered > 0 {
		return fmt.Sprintf("%d orders were never answered: they may have held the lock at any time", b.unanswered)
	}
	if b.alone {
		return "no two leases can be compared: readers share the lock"
	}
	if b.seen < b.due {
		return strings.TrimSuffix(b.unseen(), ": ")
	}
	if len(b.leases) < 2 && b.noFaults() {
		return "a single lease overlaps nothing"
	}
	return ""
}

// unseen returns how many leases were not seen, as the beginning of a sentence, "" if all were.
func (b *books) unseen() string {
	if b.seen == b.due {
		return ""
	}
	return fmt.Sprintf("of %d orders that must have held the lock, "+
		"%d returned a whole lease: ", b.due, b.seen)
}

// overlaps returns each lease that began before an earlier one ended, paired with the earlier one that ends last.
// Readers share the lock with each other.
func (b *books) overlaps() *violations {
	h := &violations{}
	holder, writer := -1, -1 // of the earlier leases, the one that ends last
	later := func(i, than int) bool { return than < 0 || b.leases[i].until > b.leases[than].until }
	for i, one := range b.leases {
		before := holder
		if one.reading {
			before = writer
		}
		if before >= 0 && b.leases[before].until > one.acquired {
			h.add(violation{at: one.acquired, a: b.leases[before].op, b: one.op})
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

// overlap describes a violation.
func (b *books) overlap(h violation) history.Evidence {
	one, other := b.ops[h.a], b.ops[h.b]
	end := min(one.Lease.Until(), other.Lease.Until())
	long := ""
	if end > h.at {
		long = fmt.Sprintf(" for %s ms", millis(end-h.at))
	}
	return evidence(b.refusedLate(one, other)+fmt.Sprintf("%s on %s and %s on %s both held the lock%s at %s",
		order(b.Cell, one), instance(b.Cell, one), order(b.Cell, other), instance(b.Cell, other), long, h.at),
		[]history.Instant{h.at, max(h.at, end)}, one, other)
}

// refusedLate reports that the stock refused the write of one of two holders, as the beginning of a sentence, "" if it
// refused neither.
func (b *books) refusedLate(one, other *history.Op) string {
	refused := func(op *history.Op) bool {
		return slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return cmd.RefusedByStock() })
	}
	if refused(other) {
		one, other = other, one
	}
	if !refused(one) {
		return ""
	}
	text := fmt.Sprintf("the stock refused %s's late write", order(b.Cell, one))
	if stock(b).Result == history.OK {
		text = "lock broken, stock safe: " + text
	}
	if one.Lease.Fence != 0 && one.Lease.Fence < other.Lease.Fence {
		text += fmt.Sprintf(" (token %d < %d)", b.Ordinal(one.Lease.Fence), b.Ordinal(other.Lease.Fence))
	}
	return text + "; "
}

// millis renders a duration in ms. Only zero is rendered as zero.
func millis(d history.Instant) string {
	if d != 0 && -time.Microsecond < time.Duration(d) && time.Duration(d) < time.Microsecond {
		return fmt.Sprintf("%.6f", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond))
}
