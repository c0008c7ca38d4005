package audit

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// Liveness answers whether a fresh request got through once the load was over: an answer that needed the lock,
// a sale or a refusal for lack of stock, within the cell's limit.
func Liveness(c *history.Cell) history.Finding {
	tries := probes(c)
	if len(tries) == 0 {
		return found(history.Liveness, history.Unclear, "no fresh request was sent")
	}
	first, last := tries[0], decisive(tries)
	took := time.Duration(last.Done - first.Sent)
	switch {
	case !last.Done.Known():
		return stuck(c, first, last, "a fresh request was not answered")
	case last.Outcome != history.Sold && last.Outcome != history.Refused:
		return stuck(c, first, last, "a fresh request did not get through in "+took.Round(time.Millisecond).String())
	case took > c.Limit:
		return stuck(c, first, last, "a fresh request got through only after "+took.Round(time.Millisecond).String())
	}
	return history.Finding{Verdict: history.Liveness, Result: history.OK}
}

// Recovery returns after how long a fresh request got through once the load was over, or that none did in that time. It
// is zero where nobody knows: none was sent, or the last was never answered.
func Recovery(c *history.Cell) (took time.Duration, through bool) {
	tries := probes(c)
	if len(tries) == 0 {
		return 0, false
	}
	last := decisive(tries)
	if !last.Done.Known() {
		return 0, false
	}
	return time.Duration(last.Done - tries[0].Sent), last.Outcome == history.Sold || last.Outcome == history.Refused
}

// decisive is the first of the tries that got through, or if none did the last.
func decisive(tries []*history.Op) *history.Op {
	for _, op := range tries {
		if op.Outcome == history.Sold || op.Outcome == history.Refused {
			return op
		}
	}
	return tries[len(tries)-1]
}

func stuck(c *history.Cell, first, last *history.Op, text string) history.Finding {
	if last.Status != 0 {
		text += ", " + last.Instance + " answered: " + last.Detail
	}
	return broken(history.Liveness, []history.Evidence{{
		Text: before(c) + text, Orders: []string{first.Order, last.Order}, Instances: []string{first.Instance, last.Instance},
		At: []history.Instant{first.Sent, last.Done},
	}}, 1)
}

func probes(c *history.Cell) []*history.Op {
	var tries []*history.Op
	for i := range c.Ops {
		if c.Ops[i].Phase == history.Probe {
			tries = append(tries, &c.Ops[i])
		}
	}
	slices.SortStableFunc(tries, func(a, b *history.Op) int { return cmp.Compare(a.Sent, b.Sent) })
	return tries
}
