package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"stockapi/loadtest/history"
)

// liveness answers whether a fresh request got through after the load, within the cell's limit. It got through if its
// answer needed the lock: a sale, or a refusal for lack of stock. An answer that may be such a refusal, in a shop's own
// way, leaves it open; so does one that a shop on trial turned away for another reason than its lock.
func liveness(b *books) history.Finding {
	if len(b.probes) == 0 {
		return answer(history.Liveness, history.Indeterminate, "no fresh request was sent")
	}
	first, last := b.probes[0], decisive(b.probes)
	took := time.Duration(last.Done - first.Sent)
	if last.Done.Known() && gotThrough(last) && took <= b.Limit {
		return history.Finding{Verdict: history.Liveness, Result: history.OK}
	}
	if op := b.openProbe(last); op != nil {
		return answer(history.Liveness, history.Indeterminate,
			"%s answered a fresh request: %s: that does not show whether it got through, as a 409 would",
			instance(b.Cell, op), said(op))
	}
	if why := b.turnedAway(last); why != "" {
		return answer(history.Liveness, history.Indeterminate, "%s", why)
	}
	switch {
	case !last.Done.Known():
		return stuck(b.Cell, first, last, "a fresh request was not answered")
	case !gotThrough(last):
		return stuck(b.Cell, first, last, "a fresh request did not get through in "+took.Round(time.Millisecond).String())
	}
	return stuck(b.Cell, first, last, "a fresh request got through only after "+took.Round(time.Millisecond).String())
}

// turnedAway says why the last fresh request that did not get through was refused, if not for the lock.
func (b *books) turnedAway(decisive *history.Op) string {
	i := slices.Index(b.probes, decisive)
	if gotThrough(decisive) {
		i--
	}
	if i < 0 {
		return ""
	}
	return b.WhyTurnedAway(b.probes[i])
}

func gotThrough(op *history.Op) bool {
	return op.Outcome == history.Sold || op.Outcome == history.Refused
}

// openProbe returns a fresh request whose answer leaves open whether it got through, nil if there is none. Those before
// the decisive one do not matter if that got through.
func (b *books) openProbe(decisive *history.Op) *history.Op {
	if leavesOpen(decisive) {
		return decisive
	}
	if gotThrough(decisive) {
		return nil
	}
	for _, op := range b.probes {
		if leavesOpen(op) {
			return op
		}
	}
	return nil
}

// leavesOpen reports whether the answer to an order tells neither that it got through nor that it did not: such as a
// 404, or a page with status 200. What the service said when it was asked later came too late to tell.
func leavesOpen(op *history.Op) bool {
	told := gotThrough(op) || op.Outcome == history.Busy
	return op.Done.Known() && op.Status != 0 && op.Status < 500 && (!told || op.Resolved)
}

// Recovery returns after how long a fresh request got through after the load, or that none did in that time. It is zero
// if that is not known: none was sent, or the last one was never answered.
func Recovery(c *history.Cell) (took time.Duration, through bool) {
	probes := freshRequests(c)
	if len(probes) == 0 {
		return 0, false
	}
	sent, last := probes[0].Sent, decisive(probes)
	if !last.Done.Known() {
		return 0, false
	}
	return time.Duration(last.Done - sent), gotThrough(last)
}

// freshRequests returns the fresh requests of a cell in the order in which they were sent.
func freshRequests(c *history.Cell) []*history.Op {
	var probes []*history.Op
	for i := range c.Ops {
		if c.Ops[i].Phase == history.Probe {
			probes = append(probes, &c.Ops[i])
		}
	}
	slices.SortStableFunc(probes, func(x, y *history.Op) int { return cmp.Compare(x.Sent, y.Sent) })
	return probes
}

// decisive returns the first fresh request that got through, or the last one if none did.
func decisive(probes []*history.Op) *history.Op {
	if i := slices.IndexFunc(probes, gotThrough); i >= 0 {
		return probes[i]
	}
	return probes[len(probes)-1]
}

func stuck(c *history.Cell, first, last *history.Op, text string) history.Finding {
	if last.Status != 0 {
		text += ", " + last.Instance + " answered: " + said(last)
	}
	e := evidence(before(c)+text, []history.Instant{first.Sent, last.Done}, first, last)
	return broken(history.Liveness, []history.Evidence{e}, 1)
}

// said returns what a service answered: its status, if nothing more is known.
func said(op *history.Op) string { return cmp.Or(op.Detail, strconv.Itoa(op.Status)) }
