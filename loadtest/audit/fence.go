package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// fence judges whether the fencing tokens grew with every acquisition. Two tokens are only compared if one acquisition
// had certainly ended before the other began; if they may have overlapped, either order is right. A token that was
// granted twice is wrong in any order, and by any clocks.
func fence(b *books) history.Finding {
	l := readGrants(b)
	if len(l.grants) == 0 {
		return history.Finding{Verdict: history.Fence, Result: history.NotApplicable}
	}
	if h := l.sameToken(); h.total > 0 {
		return h.broken(history.Fence, l.sameTokenTwice)
	}
	if why := l.clocks.notJudged(); why != "" {
		return answer(history.Fence, history.NotApplicable, "%s", why)
	}
	if h := l.fellBack(); h.total > 0 {
		return h.broken(history.Fence, l.fellBackEvidence)
	}
	if why := l.unsureOfTokens(); why != "" {
		return answer(history.Fence, history.Indeterminate, "%s", why)
	}
	return history.Finding{Verdict: history.Fence, Result: history.OK}
}

// grants are the grants of the cell's fencing tokens.
type grants struct {
	*books
	grants []grant
	// compared reports whether any acquisition had certainly ended before another one began.
	compared bool
}

// A grant is the issue of one fencing token, which happened between begun and ended, by the order's clock.
type grant struct {
	token        int64
	begun, ended history.Instant
	op           int
}

func readGrants(b *books) *grants {
	l := &grants{books: b}
	for i, op := range b.ops {
		if op.Lease == nil || op.Lease.Fence == 0 {
			continue
		}
		l.grants = append(l.grants, grant{
			token: op.Lease.Fence, begun: begun(op, b.clocks.of(op.Instance)), ended: op.Lease.AcquiredAt, op: i,
		})
	}
	return l
}

// unsureOfTokens returns why it is uncertain that the tokens grew, "" if it is certain.
func (l *grants) unsureOfTokens() string {
	if l.unanswered > 0 {
		return fmt.Sprintf("%d orders were never answered: their tokens are unknown", l.unanswered)
	}
	if why := l.notKept(); why != "" {
		return why + ": when they got their tokens is unknown"
	}
	if l.doubtful > 0 {
		return l.doubts()
	}
	if len(l.grants) > 1 && (!l.compared || l.due > 0 && l.seen == 0) {
		return "no two leases with tokens can be compared"
	}
	if n := l.locks - l.fenced; n > 0 {
		return fmt.Sprintf("%d of %d leases came without a token", n, l.locks)
	}
	return ""
}

// begun returns the start of the last command that can have been the acquire. Without a trace it is the earliest
// instant at which the order can have arrived.
func begun(op *history.Op, c *clock) history.Instant {
	at := far
	for _, cmd := range slices.Backward(op.Trace) {
		if at < far && cmd.End < op.Lease.AcquiredAt {
			break
		}
		if cmd.End <= op.Lease.AcquiredAt && cmd.Succeeded() { // of those that end at AcquiredAt, any can be it
			at = min(at, cmd.At)
		}
	}
	if at < far {
		return at
	}
	return op.Sent + c.lo
}

func (l *grants) sameToken() *violations {
	slices.SortFunc(l.grants, func(a, b grant) int {
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.op, b.op))
	})
	h := &violations{}
	first := 0
	for i := 1; i < len(l.grants); i++ {
		if l.grants[i].token != l.grants[first].token {
			first = i
			continue
		}
		h.add(violation{at: history.Instant(l.grants[i].op), a: l.grants[first].op, b: l.grants[i].op,
			value: l.grants[i].token})
	}
	return h
}

// fellBack compares each grant with the highest token that was certainly granted before it.
func (l *grants) fellBack() *violations {
	slices.SortFunc(l.grants, func(a, b grant) int {
		return cmp.Or(cmp.Compare(a.ended, b.ended), cmp.Compare(a.op, b.op))
	})
	highest := make([]int, len(l.grants))
	for i := range l.grants {
		highest[i] = i
		if i > 0 && l.grants[highest[i-1]].token > l.grants[i].token {
			highest[i] = highest[i-1]
		}
	}
	h := &violations{}
	for i := range l.grants {
		one := &l.grants[i]
		n := sort.Search(len(l.grants), func(j int) bool { return l.grants[j].ended >= one.begun })
		l.compared = l.compared || n > 0
		if n > 0 && l.grants[highest[n-1]].token > one.token {
			h.add(violation{at: one.ended, a: l.grants[highest[n-1]].op, b: one.op, value: one.token})
		}
	}
	return h
}

func (l *grants) fellBackEvidence(one violation) history.Evidence {
	a, b := l.ops[one.a], l.ops[one.b]
	return tokens(fmt.Sprintf("%s got token %d at %s, and %s only token %d at %s",
		order(l.Cell, a), l.Ordinal(a.Lease.Fence), a.Lease.AcquiredAt,
		order(l.Cell, b), l.Ordinal(b.Lease.Fence), b.Lease.AcquiredAt), a, b)
}

func (l *grants) sameTokenTwice(one violation) history.Evidence {
	a, b := l.ops[one.a], l.ops[one.b]
	return tokens(fmt.Sprintf("%s and %s both got token %d",
		order(l.Cell, a), order(l.Cell, b), l.Ordinal(one.value)), a, b)
}

func tokens(text string, a, b *history.Op) history.Evidence {
	return evidence(text, []history.Instant{a.Lease.AcquiredAt, b.Lease.AcquiredAt}, a, b)
}
