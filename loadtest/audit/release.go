package audit

import (
	"fmt"

	"stockapi/loadtest/history"
)

// ownRelease judges, by the commands that the orders sent, whether an order removed a lock that was not its own.
//
// The argument is [history.Timeline]'s. A removal that cannot be judged is counted: see [books.tooFewJudged]. One by an
// order to which another passed the lock is only judged if all orders returned their traces.
func ownRelease(b *books, line *history.Timeline) history.Finding {
	if b.removals == 0 && b.cut == 0 {
		return history.Finding{Verdict: history.OwnRelease, Result: history.NotApplicable}
	}
	if why := b.clocks.notJudged(); why != "" {
		return answer(history.OwnRelease, history.NotApplicable, "%s", why)
	}
	h := &violations{}
	for i := range line.Removals {
		r := &line.Removals[i]
		if !r.Owned.Known() || r.Passed() && b.silent+b.unanswered+b.doubtful > 0 {
			continue
		}
		if b.judged++; r.Foreign() {
			h.add(violation{at: r.At, a: r.Order, b: r.By, value: int64(i)})
		}
	}
	if h.total > 0 {
		return h.broken(history.OwnRelease, func(one violation) history.Evidence {
			return b.theft(&line.Removals[one.value])
		})
	}
	if b.unanswered > 0 {
		return answer(history.OwnRelease, history.Indeterminate,
			"%d orders were never answered: what they removed is unknown", b.unanswered)
	}
	if why := b.notKept(); why != "" {
		return answer(history.OwnRelease, history.Indeterminate, "%s: what the rest removed is unknown", why)
	}
	if b.silent > 0 {
		return answer(history.OwnRelease, history.Indeterminate,
			"of %d orders that must have held the lock, %d returned no trace", b.due+b.shared, b.silent)
	}
	if b.doubtful > 0 {
		return answer(history.OwnRelease, history.Indeterminate, "%s", b.doubts())
	}
	if b.tooFewJudged() {
		return answer(history.OwnRelease, history.Indeterminate,
			"only %d of %d releases could be judged", b.judged, b.removals)
	}
	return history.Finding{Verdict: history.OwnRelease, Result: history.OK}
}

// tooFewJudged reports whether too few removals were judged for an ok. An honest crowd leaves none unjudged, so nine of
// ten are required, which allows for a reply lost here and there on a real network.
//
// A fault loses replies, and an order that undoes an acquire without a reply removes a key that may or may not be its
// own: one of the three or four removals of most cells, and up to six of ten with five nodes cut off. There a third is
// enough: no honest cell had less.
func (b *books) tooFewJudged() bool {
	if b.noFaults() {
		return 10*b.judged < 9*b.removals
	}
	return 3*b.judged < b.removals
}

// theft describes the removal of another order's lock.
func (b *books) theft(r *history.Removal) history.Evidence {
	op, other := b.ops[r.Order], b.ops[r.By]
	return evidence(fmt.Sprintf("%s on %s removed %s at %s although %s on %s had taken it at %s",
		order(b.Cell, op), instance(b.Cell, op), r.Lock().Key, r.At, order(b.Cell, other), other.Instance, r.Taken),
		[]history.Instant{r.At, r.Taken}, op, other)
}
