package cause

import (
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// LongLease is the longest lease that a trial waits out. After a crash, a longer one is remarked on.
const LongLease = time.Minute

// remarks returns observations that are worth knowing but break no verdict: of each cause the first.
func (r *record) remarks() (all []string) {
	var causes []string
	for _, s := range r.seen {
		if s.kind != remarked || s.what != "" && slices.Contains(causes, s.what) {
			continue
		}
		causes, all = append(causes, s.what), append(all, s.shown)
	}
	if text := r.blocks(); text != "" {
		all = append(all, text)
	}
	for _, f := range r.deaths() {
		if r.hadToDie(f.Instance) {
			all = append(all, f.Instance+" "+f.Text)
		}
	}
	return all
}

// blocks remarks on a lease that blocks all orders for long after a crash.
func (r *record) blocks() string {
	if r.facts.TTL <= LongLease || !slices.ContainsFunc(r.courses, r.diedHolding) {
		return ""
	}
	return "a crash blocks all orders for " + r.facts.TTL.String()
}

// diedHolding reports whether an order's instance was killed while it held the lock.
func (r *record) diedHolding(c *history.Course) bool {
	died := r.DiedAt(c.Instance)
	return c.Index >= 0 && died.Known() && c.Sent < died && c.Last.Took != nil && c.Last.State != history.HasFreed
}

// muchLonger is how many times as long as a plain sale no lease has to be.
const muchLonger = 5000

// blocksForLong returns the defect of a lease that is out of proportion to a plain sale, as if seconds were taken for
// milliseconds; nil if it is not.
func (r *record) blocksForLong() *history.Defect {
	if r.blocks() == "" || r.facts.TTL < muchLonger*r.facts.Takes {
		return nil
	}
	return longLease.defect("%s, and a sale takes %s", r.blocks(), r.facts.Takes.Round(time.Millisecond))
}
