package audit

import (
	"math"
	"time"

	"stockapi/loadtest/history"
)

// coverage returns what the verdicts about the stock rest on.
func (b *books) coverage() *history.Coverage {
	_, checked := b.wrongRefusals()
	cover := &history.Coverage{
		Sales: b.sales, Refusals: b.refused, Checked: checked, Resolved: b.resolved, Unknown: b.unknown,
	}
	if b.sales > 0 {
		cover.Rarer = math.Min(1, rule/float64(b.sales))
	}
	return cover
}

// cover adds what the verdicts about the lock rest on, if any lease was seen.
func (l *leases) cover(cover *history.Coverage) {
	if len(l.all) > 0 {
		cover.Leases, cover.Expected, cover.Shared = l.seen, l.due, l.shared
		cover.Resolution = time.Duration(l.clocks.digit())
	}
}

// rule is the rule of three: with a confidence of 95 %, an event that was not seen in n trials happens less often than
// 3 times in n. It is -ln(0.05), rounded up.
const rule = 3
