package audit

import (
	"math"
	"time"

	"stockapi/loadtest/history"
)

// coverage returns the amount of evidence for the verdicts.
func (b *books) coverage() *history.Coverage {
	_, checked := b.wrongRefusals()
	cover := &history.Coverage{
		Sales: b.sales, Refusals: b.refused, Checked: checked, Resolved: b.resolved, Unknown: b.unknown,
		Removals: b.removals, Judged: b.judged, LostReleases: b.lostReleases,
	}
	if t := b.Tally(); t.Busy > 0 && b.noFaults() && b.Left != nil && *b.Left > 0 {
		cover.Busy, cover.Orders = t.Busy, t.Buyers
	}
	if b.sales > 0 {
		cover.Rarer = math.Min(1, rule/float64(b.sales))
	}
	if len(b.leases) > 0 {
		cover.Leases, cover.Expected, cover.Shared = b.seen, b.due, b.shared
		cover.Resolution = time.Duration(b.clocks.digit())
	}
	return cover
}

// rule is the rule of three: with a confidence of 95 %, an event that was not seen in n trials happens less than 3
// times in n. It is -ln(0.05), rounded up.
const rule = 3
