package scenario

import "stockapi/loadtest/history"

// Rung is a rung of the ladder as this table knows it; what it needs, the instance says itself.
type Rung struct{ Number, Name string }

// Rungs is the ladder, bottom up.
var Rungs = []Rung{
	{"v0", "nolock"},
	{"v0.5", "mutex"},
	{"v1", "setnx"},
	{"v1.5", "setnx-expire"},
	{"v2", "set-nx-ex"},
	{"v3", "owner-check"},
	{"v4", "lua-release"},
	{"v5", "watchdog"},
	{"v5-as-printed", "as-printed"},
	{"v6", "redlock"},
}

// Expectation is what must be found when a rung meets a scenario, and why in one sentence.
type Expectation struct {
	Rung     string
	Verdicts Verdicts
	Why      string
}

// Verdicts is one result per question.
type Verdicts struct{ Stock, Exclusion, OwnRelease, Liveness, Fence history.Result }

// Of returns the expected result for v.
func (e Verdicts) Of(v history.Verdict) history.Result {
	return map[history.Verdict]history.Result{
		history.Stock: e.Stock, history.Exclusion: e.Exclusion, history.OwnRelease: e.OwnRelease,
		history.Liveness: e.Liveness, history.Fence: e.Fence,
	}[v]
}

const (
	ok     = history.OK
	broken = history.Broken
	none   = history.NotApplicable
)

// The usual combinations, in the order stock, exclusion, own-release, liveness, fence.
var (
	noLock     = Verdicts{broken, none, none, ok, none} // without a lock there is nothing to exclude or release
	localHolds = Verdicts{ok, ok, none, ok, none}       // a mutex leaves no key that anybody could remove
	localFails = Verdicts{broken, broken, none, ok, none}
	leaseHolds = Verdicts{ok, ok, ok, ok, none}
)

// Scenario is one thing that is done to rungs.
type Scenario struct {
	Name string
	Does string
	// Instances is how many stockapi processes share the load; Several leaves it to the caller.
	Instances int
	Expect    []Expectation
}

// Several stands for as many instances as were asked for, at least two.
const Several = 0

// Table is every scenario with every rung that it applies to, in the order in which they run: contention comes
// first, and in it the rung that is sure to break.
var Table = []Scenario{
	{
		Name: "one-instance", Does: "all buyers at once, over one instance", Instances: 1,
		Expect: []Expectation{
			{"v0", noLock, "between one order's read and its write, others read the same stock"},
			{"v0.5", localHolds, "within one process a mutex is all that is needed"},
			{"v1", leaseHolds, "SETNX lets one in, and nobody crashes here"},
			{"v1.5", leaseHolds, "nobody crashes between its two commands, and the TTL far exceeds the work"},
			{"v2", leaseHolds, "the TTL far exceeds the work, so each DEL meets its own lock"},
			{"v3", leaseHolds, "the gap between its GET and DEL only matters once a lease expires"},
			{"v4", leaseHolds, "the TTL far exceeds the work"},
			{"v5", leaseHolds, "the work ends long before a renewal is due"},
			{"v5-as-printed", leaseHolds, "its stray timers first fire at TTL/2, after the burst is over"},
			{"v6", leaseHolds, "all five nodes are up, and one holder at most has three of them"},
		},
	},
	{
		Name: "two-instances", Does: "the same, over two instances or more", Instances: Several,
		Expect: []Expectation{
			{"v0", noLock, "nothing guards the read and the write, on no instance"},
			{"v0.5", localFails, "each instance has a mutex of its own, and they know nothing of each other"},
			{"v1", leaseHolds, "the lock lies in Redis, which all instances share"},
			{"v1.5", leaseHolds, "the lock lies in Redis, and nobody crashes"},
			{"v2", leaseHolds, "the lock lies in Redis, and the TTL far exceeds the work"},
			{"v3", leaseHolds, "the lock lies in Redis, and no lease expires"},
			{"v4", leaseHolds, "the lock lies in Redis, and no lease expires"},
			{"v5", leaseHolds, "the lock lies in Redis, and no renewal falls due"},
			{"v5-as-printed", leaseHolds, "the lock lies in Redis; its stray timers first fire at TTL/2"},
			{"v6", leaseHolds, "both instances need three of the same five nodes"},
		},
	},
}

// Expected finds what the table says of a scenario and a rung.
func Expected(scenario, rung string) (Expectation, bool) {
	for _, s := range Table {
		for _, e := range s.Expect {
			if s.Name == scenario && e.Rung == rung {
				return e, true
			}
		}
	}
	return Expectation{}, false
}

// NameOf returns the name of the rung of that number.
func NameOf(number string) string {
	for _, r := range Rungs {
		if r.Number == number {
			return r.Name
		}
	}
	return ""
}
