package audit

import (
	"fmt"

	"stockapi/loadtest/history"
)

// maxEvidence bounds what is kept per finding; Because says how many there were.
const maxEvidence = 5

// Judge answers all questions about a cell, in the order of history.Verdicts. A cell that was not run gets
// no answers.
func Judge(c *history.Cell) []history.Finding {
	if c.NotRun != "" {
		return nil
	}
	clocks := boundClocks(c)
	return []history.Finding{
		Stock(c),
		exclusion(c, clocks),
		OwnRelease(c),
		Liveness(c),
		fence(c, clocks),
		inOrder(c, clocks),
		herd(c, clocks),
	}
}

// Exclusion answers whether ever two orders held the lock at once.
func Exclusion(c *history.Cell) history.Finding { return exclusion(c, boundClocks(c)) }

// Fence answers whether the fencing tokens grew with every acquisition.
func Fence(c *history.Cell) history.Finding { return fence(c, boundClocks(c)) }

func found(v history.Verdict, r history.Result, format string, args ...any) history.Finding {
	return history.Finding{Verdict: v, Result: r, Because: fmt.Sprintf(format, args...)}
}

// broken makes a finding of its evidence: the first is the reason, the rest is counted.
func broken(v history.Verdict, ev []history.Evidence, total int) history.Finding {
	f := history.Finding{Verdict: v, Result: history.Broken, Because: ev[0].Text, Evidence: ev[:min(len(ev), maxEvidence)]}
	if total > 1 {
		f.Because += fmt.Sprintf(" (the first of %d)", total)
	}
	return f
}

// unanswered counts the orders whose lease, if they had one, nobody knows.
func unanswered(c *history.Cell) int {
	n := 0
	for i := range c.Ops {
		if c.Ops[i].Outcome == history.Unknown && c.Ops[i].Lease == nil {
			n++
		}
	}
	return n
}
