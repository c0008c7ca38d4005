package audit

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"stockapi/loadtest/history"
)

// liveness judges whether a fresh request got through after the load, within the cell's limit. It got through if its
// answer needed the lock: a sale, or a refusal for lack of stock. An answer that may be such a refusal in a shop's own
// format leaves it unknown; so does a request that a shop on trial turned away for another reason than its lock.
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
			"%s answered a fresh request: %s: unlike a 409, that does not show whether it got through",
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

// turnedAway returns why the last fresh request that did not get through was refused, "" if because of the lock.
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

// openProbe returns a fresh request whose answer leaves open whether it got through, nil if there is none. Earlier ones
// do not matter if the decisive one got through.
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

// leavesOpen reports whether an answer shows neither that the order got through nor that it did not, such as a 404, or
// a page with status 200. A status that was looked up later came too late to show it.
func leavesOpen(op *history.Op) bool {
	told := gotThrough(op) || op.Outcome == history.Busy
	return op.Done.Known() && op.Status != 0 && op.Status < 500 && (!told || op.Resolved)
}

// Recovery returns how long after the load a fresh request got through or, with through false, for how long none did.
// It is zero if that is unknown: none was sent, or the last one was never answered.
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

// said returns the detail of an answer, or its status if it has none.
func said(op *history.Op) string { return cmp.Or(op.Detail, strconv.Itoa(op.Status)) }
