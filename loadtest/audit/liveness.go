package audit

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// liveness answers whether a fresh request got through after the load, within the cell's limit. It got through if its
// answer needed the lock: a sale, or a refusal for lack of stock. An answer that may be such a refusal, in a shop's own
// way, leaves it open.
func liveness(b *books) history.Finding {
	if len(b.probes) == 0 {
		return found(history.Liveness, history.Indeterminate, "no fresh request was sent")
	}
	first, last := *b.firstProbe(), *b.decisive()
	took := time.Duration(last.Done - first.Sent)
	if last.Done.Known() && gotThrough(&last) && took <= b.Limit {
		return history.Finding{Verdict: history.Liveness, Result: history.OK}
	}
	if op := b.openProbe(&last); op != nil {
		return found(history.Liveness, history.Indeterminate,
			"%s answered a fresh request: %s: that does not tell whether it got through, as a 409 does",
			instance(b.Cell, op), op.Detail)
	}
	switch {
	case !last.Done.Known():
		return stuck(b.Cell, &first, &last, "a fresh request was not answered")
	case !gotThrough(&last):
		return stuck(b.Cell, &first, &last, "a fresh request did not get through in "+took.Round(time.Millisecond).String())
	}
	return stuck(b.Cell, &first, &last, "a fresh request got through only after "+took.Round(time.Millisecond).String())
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
	for _, i := range b.inTurn() {
		if op := b.At(int(i)); leavesOpen(op) {
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
	b := &books{Cell: c}
	for i, op := range c.All() {
		if op.Phase == history.Probe {
			b.probes = append(b.probes, int32(i))
		}
	}
	if len(b.probes) == 0 {
		return 0, false
	}
	sent, last := b.firstProbe().Sent, b.decisive()
	if !last.Done.Known() {
		return 0, false
	}
	return time.Duration(last.Done - sent), gotThrough(last)
}

// firstProbe returns the fresh request that was sent first.
func (b *books) firstProbe() *history.Op { return b.At(int(b.inTurn()[0])) }

// decisive returns the first fresh request that got through, or the last one if none did.
func (b *books) decisive() *history.Op {
	tries := b.inTurn()
	for _, i := range tries {
		if op := b.At(int(i)); gotThrough(op) {
			return op
		}
	}
	return b.At(int(tries[len(tries)-1]))
}

// inTurn returns the numbers of the fresh requests in the order in which they were sent.
func (b *books) inTurn() []int32 {
	sent := make(map[int32]history.Instant, len(b.probes))
	for _, i := range b.probes {
		sent[i] = b.At(int(i)).Sent
	}
	slices.SortStableFunc(b.probes, func(x, y int32) int { return cmp.Compare(sent[x], sent[y]) })
	return b.probes
}

func stuck(c *history.Cell, first, last *history.Op, text string) history.Finding {
	if last.Status != 0 {
		text += ", " + last.Instance + " answered: " + last.Detail
	}
	e := evidence(before(c)+text, []history.Instant{first.Sent, last.Done}, first, last)
	return broken(history.Liveness, []history.Evidence{e}, 1)
}
