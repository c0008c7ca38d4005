package cause

import (
	"slices"
	"time"
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
	if r.Scenario == "crash 1" && r.facts.TTL > LongLease { // in one cell only
		all = append(all, "a crash blocks all orders for "+r.facts.TTL.String())
	}
	for _, f := range r.deaths() {
		if r.hadToDie(f.Instance) {
			all = append(all, f.Instance+" "+f.Text)
		}
	}
	return all
}
