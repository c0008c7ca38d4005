package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// fence answers whether the fencing tokens grew with every acquisition. Two tokens are only compared if one acquisition
// had surely ended before the other began; if they may have overlapped, either order is right. The same token twice is
// wrong in any order.
func fence(b *books) history.Finding {
	l := readGrants(b)
	if len(l.grants) == 0 {
		return history.Finding{Verdict: history.Fence, Result: history.NotApplicable}
	}
	if h := l.sameToken(); h.total > 0 {
		return h.broken(history.Fence, func(one violation) history.Evidence {
			return l.tokens(one, "%s and %s both got token %d")
		})
	}
	if h := l.fellBack(true); h.total > 0 {
		return h.broken(history.Fence, l.fellBackEvidence)
	}
	if why := l.unsureOfTokens(); why != "" {
		return found(history.Fence, history.Indeterminate, "%s", why)
	}
	return history.Finding{Verdict: history.Fence, Result: history.OK}
}

// grants are the result of one more pass over the ops, if there are tokens.
type grants struct {
	*books
	grants []grant
	// compared reports whether any acquisition had surely ended before another one began.
	compared bool
}

// A grant is the giving of one fencing token: it happened between begun and ended, by the clock.
type grant struct {
	token        int64
	begun, ended history.Instant
	late         history.Instant
	op, clock    int32
}

func readGrants(b *books) *grants {
	l := &grants{books: b}
	if b.fenced == 0 {
		return l
	}
	l.grants = make([]grant, 0, b.fenced)
	for i, op := range b.All() {
		if op.Lease == nil || op.Lease.Fence == 0 {
			continue
		}
		clock := b.clocks.of(op.Instance)
		l.grants = append(l.grants, grant{
			token: op.Lease.Fence, begun: begun(op, b.clocks.bounds[clock]), ended: op.Lease.AcquiredAt,
			late: b.clocks.late(op), op: int32(i), clock: clock,
		})
	}
	return l
}

// unsureOfTokens says why it is not certain that the tokens grew, or returns "".
func (l *grants) unsureOfTokens() string {
	if id, yes := l.set(); yes {
		return fmt.Sprintf(wasSet, id)
	}
	if h := l.fellBack(false); h.total > 0 {
		return perhapsSet + l.fellBackEvidence(h.first[0]).Text
	}
	if l.unanswered > 0 {
		return fmt.Sprintf("%d orders were never answered: their tokens are not known", l.unanswered)
	}
	if why := l.notKept(); why != "" {
		return why + ": when they got their tokens is not known"
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

// begun returns the start of the last command that can have been the acquire. Without a trace, it is the earliest
// moment at which the order can have arrived.
func begun(op *history.Op, b bound) history.Instant {
	at := far
	for _, cmd := range slices.Backward(op.Trace) {
		if at < far && cmd.End < op.Lease.AcquiredAt {
			break
		}
		if cmd.End <= op.Lease.AcquiredAt && cmd.Succeeded() { // of those that end as it was acquired, any one can be it
			at = min(at, cmd.At)
		}
	}
	if at < far {
		return at
	}
	return op.Sent + b.lo
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

// fellBack compares each grant with the highest token that was surely given before it: by the same clock, and then on
// the client's timeline by all clocks. With strict, a clock that was set back cannot mislead it.
func (l *grants) fellBack(strict bool) *violations {
	h := &violations{}
	byClock, usable := map[int32][]int32{}, []int32(nil)
	for i := range l.grants {
		clock := l.grants[i].clock
		if b := l.clocks.bounds[clock]; !b.set {
			byClock[clock] = append(byClock[clock], int32(i))
			if b.lo > -far && b.hi < far {
				usable = append(usable, int32(i))
			}
		}
	}
	judged := make([]bool, len(l.grants))
	for _, own := range byClock {
		l.fellBackAmong(own, judged, h,
			func(g *grant) history.Instant { return g.begun },
			func(g *grant) history.Instant { return g.surelyEnded(strict) })
	}
	if l.before == nil {
		return h
	}
	l.fellBackAmong(usable, judged, h,
		func(g *grant) history.Instant {
			if strict {
				return g.begun - max(l.after[g.op], l.clocks.bounds[g.clock].hi)
			}
			return g.begun - l.clocks.bounds[g.clock].hi
		},
		func(g *grant) history.Instant {
			if strict {
				return g.ended + l.before[g.op] - l.clocks.bounds[g.clock].lo
			}
			return g.ended - l.clocks.bounds[g.clock].lo
		})
	return h
}

func (g *grant) surelyEnded(strict bool) history.Instant {
	if strict {
		return g.ended + g.late
	}
	return g.ended
}

// fellBackAmong compares these grants on one timeline, and marks those that have fallen back.
func (l *grants) fellBackAmong(some []int32, judged []bool, h *violations, begun, ended func(*grant) history.Instant) {
	slices.SortFunc(some, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ended(&l.grants[a]), ended(&l.grants[b])), cmp.Compare(l.grants[a].op, l.grants[b].op))
	})
	highest := make([]int32, len(some))
	for i, g := range some {
		highest[i] = g
		if i > 0 && l.grants[highest[i-1]].token > l.grants[g].token {
			highest[i] = highest[i-1]
		}
	}
	for _, g := range some {
		one := &l.grants[g]
		n := sort.Search(len(some), func(i int) bool { return ended(&l.grants[some[i]]) >= begun(one) })
		l.compared = l.compared || n > 0
		if n == 0 || judged[g] || l.grants[highest[n-1]].token <= one.token {
			continue
		}
		judged[g] = true
		h.add(violation{at: ended(one), a: l.grants[highest[n-1]].op, b: one.op, value: one.token})
	}
}

func (l *grants) fellBackEvidence(one violation) history.Evidence {
	ev := l.tokens(one, "%s and %s: %d")
	a, b := *l.At(int(one.a)), *l.At(int(one.b))
	ev.Text = fmt.Sprintf("%s got token %d at %s, and %s only token %d at %s",
		order(l.Cell, &a), a.Lease.Fence, a.Lease.AcquiredAt, order(l.Cell, &b), b.Lease.Fence, b.Lease.AcquiredAt)
	return ev
}

func (l *grants) tokens(one violation, format string) history.Evidence {
	a, b := *l.At(int(one.a)), *l.At(int(one.b))
	return history.Evidence{
		Text:   fmt.Sprintf(format, order(l.Cell, &a), order(l.Cell, &b), one.value),
		Orders: []string{a.Order, b.Order}, Instances: []string{a.Instance, b.Instance},
		At: []history.Instant{a.Lease.AcquiredAt, b.Lease.AcquiredAt},
	}
}
