package scenario

import (
	"context"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// Rung is a rung of the ladder as this table knows it; what it needs, the instance says itself.
type Rung struct {
	Number, Name string
	// Read and Write are the commands by which an order reads the stock and writes it, as the points of a fault are
	// called.
	Read, Write string
}

// Rungs is the ladder, bottom up.
var Rungs = []Rung{
	{"v0", "nolock", "get/stock", "set/stock"},
	{"v0.5", "mutex", "get/stock", "set/stock"},
	{"v1", "setnx", "get/stock", "set/stock"},
	{"v1.5", "setnx-expire", "get/stock", "set/stock"},
	{"v2", "set-nx-ex", "get/stock", "set/stock"},
	{"v3", "owner-check", "get/stock", "set/stock"},
	{"v4", "lua-release", "get/stock", "set/stock"},
	{"v5", "watchdog", "get/stock", "set/stock"},
	{"v5-as-printed", "as-printed", "get/stock", "set/stock"},
	{"v5.5", "bounded", "get/stock", "set/stock"},
	{"v6", "redlock", "get/stock", "set/stock"},
	{"v7", "reentrant", "get/stock", "set/stock"},
	{"v7-cached", "cached-reentrancy", "get/stock", "set/stock"},
	{"v8", "fair", "get/stock", "set/stock"},
	{"v9", "multilock", "get/stock", "set/stock"},
	{"v9-naive", "one-by-one", "get/stock", "set/stock"},
	{"v9-nodes", "every-node", "get/stock", "set/stock"},
	{"v10", "readwrite", "get/stock", "set/stock"},
	{"v11", "semaphore", "get/stock", "set/stock"},
	{"v11-two", "two-permits", "get/stock", "set/stock"},
	{"v12", "sql-row", "get/stock", "set/stock"},
	{"v12-session", "sql-session", "get/stock", "set/stock"},
	{"v13", "zk-ephemeral", "get/stock", "set/stock"},
	{"v14", "zk-sequential", "get/stock", "set/stock"},
	{"v15", "fenced", "eval:read", "eval:write"},
	{"v15-write-only", "write-only-fence", "get/stock", "eval:write"},
	{"v16", "cas", "get/stock", "set/stock"},
	{"v17", "atomic", "eval:take", "eval:take"},
}

// OnZooKeeper reports whether the rung's locks are nodes there, which end with a session and not after a TTL.
func (r Rung) OnZooKeeper() bool { return strings.HasPrefix(r.Name, "zk-") }

// OnNodes reports whether the rung's lock lies on several independent nodes, and Quorum whether most of them will do.
func (r Rung) OnNodes() bool { return r.Quorum() || r.Name == "every-node" }

// Quorum reports whether most of several nodes grant the rung's lock.
func (r Rung) Quorum() bool { return r.Name == "redlock" }

// OnSQL reports whether the rung's locks are in a database.
func (r Rung) OnSQL() bool { return strings.HasPrefix(r.Name, "sql-") }

// OnSession reports whether they are the database server's own, which end with a connection and not after a TTL.
func (r Rung) OnSession() bool { return r.Name == "sql-session" }

// Expectation is what must be found when a rung meets a scenario, and why in one sentence.
type Expectation struct {
	Rung     string
	Verdicts Verdicts
	Why      string
}

// Verdicts is one result per question.
type Verdicts struct{ Stock, Exclusion, OwnRelease, Liveness, Fence, Order, Herd history.Result }

// Of returns the expected result for v.
func (e Verdicts) Of(v history.Verdict) history.Result {
	return map[history.Verdict]history.Result{
		history.Stock: e.Stock, history.Exclusion: e.Exclusion, history.OwnRelease: e.OwnRelease,
		history.Liveness: e.Liveness, history.Fence: e.Fence, history.Order: e.Order,
		history.Herd: e.Herd,
	}[v]
}

const (
	ok     = history.OK
	broken = history.Broken
	none   = history.NotApplicable
)

// The usual combinations: stock, exclusion, own-release, liveness, fence, order, herd.
var (
	noLock     = Verdicts{broken, none, none, ok, none, none, none} // without a lock there is nothing to exclude or release
	localHolds = Verdicts{ok, ok, none, ok, none, none, none}       // a mutex leaves no key that anybody could remove
	localFails = Verdicts{broken, broken, none, ok, none, none, none}
	lockFree   = Verdicts{ok, none, none, ok, none, none, none}
	leaseHolds = Verdicts{ok, ok, ok, ok, none, none, none}
	fenceHolds = Verdicts{ok, ok, ok, ok, ok, none, none}

	oversold      = Verdicts{broken, broken, ok, ok, none, none, none}
	oversoldFreed = Verdicts{broken, broken, broken, ok, none, none, none} // and somebody removed another's lock
	freed         = Verdicts{ok, ok, broken, ok, none, none, none}
	shared        = Verdicts{ok, broken, ok, ok, none, none, none} // two held the lock, and the stock came to no harm
	stuck         = Verdicts{ok, ok, ok, broken, none, none, none}
	fencedStuck   = Verdicts{ok, ok, ok, broken, ok, none, none}
	fencedShared  = Verdicts{ok, broken, ok, ok, ok, none, none}
	fencedSold    = Verdicts{broken, broken, ok, ok, ok, none, none}

	served    = Verdicts{ok, ok, ok, ok, none, ok, none} // in the order of arrival
	overtaken = Verdicts{ok, ok, ok, ok, none, broken, none}

	quiet       = Verdicts{ok, ok, ok, ok, none, none, ok} // a release wakes no more than can get the lock
	fencedQuiet = Verdicts{ok, ok, ok, ok, ok, none, ok}
	fencedHerd  = Verdicts{ok, ok, ok, ok, ok, none, broken}

	fencedServed    = Verdicts{ok, ok, ok, ok, ok, ok, none}
	fencedOvertaken = Verdicts{ok, ok, ok, ok, ok, broken, none}

	rewound       = Verdicts{broken, ok, ok, ok, none, none, none} // the stock came to harm, and not by the lock
	rewoundFree   = Verdicts{broken, none, none, ok, none, none, none}
	fencedRewound = Verdicts{broken, ok, ok, ok, ok, none, none}
)

// Scenario is one thing that is done to rungs.
type Scenario struct {
	Name string
	Does string
	// Instances is how many stockapi processes take part; Several leaves it to the caller.
	Instances int
	// Stops is whether a process is stopped and continued in it, which not every system can do.
	Stops bool
	// Topology is what it needs around the instances, because it is going to harm it.
	Topology Topology
	// TTL is that of the locks, if not the usual one; Timeout how long an instance waits for a server to answer, if not
	// its default; and Within how soon a fresh request has to get through, if not within the TTL and a margin.
	TTL, Timeout, Within time.Duration
	Expect               []Expectation
	// Apart are the rungs to which it does not apply, each with the reason. Every rung is in Expect or here.
	Apart map[string]string

	inject func(context.Context, *faultCell) error
}

// Fault reports whether something is done to single orders, known to be inside; if not, it is a crowd that contends.
func (s Scenario) Fault() bool { return s.inject != nil }

// Several stands for as many instances as were asked for, at least two.
const Several = 0

// Table is every scenario with every rung, in the order in which they run: contention comes first, and in it the rung
// that is sure to break.
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
			{"v5.5", leaseHolds, "the work ends before its first renewal"},
			{"v6", leaseHolds, "all five nodes are up, and one holder at most has three of them"},
			{"v7", leaseHolds, "one field in the hash: its owner's"},
			{"v7-cached", leaseHolds, "as v7, when no caller comes a second time: one field in the hash: its owner's"},
			{"v8", leaseHolds, "one at a time, in the order in which they came"},
			{"v9", leaseHolds, "an order of one product takes one lock, as v5.5"},
			{"v9-naive", leaseHolds, "as v9, when an order names one product: an order of one product takes one lock, as v5.5"},
			{"v9-nodes", leaseHolds, "five nodes, asked in one order: who gets the first gets the rest"},
			{"v10", leaseHolds, "every order writes, and a writer is alone"},
			{"v11", leaseHolds, "one permit, and one token in the set at a time"},
			{"v11-two", oversold, "two permits: the second order reads the stock before the first one writes it"},
			{"v12", leaseHolds, "one statement takes the row or does not, and no lease expires"},
			{"v12-session", leaseHolds, "the server gives its lock to one connection at a time"},
			{"v13", fenceHolds, "a node can be made once, and nobody's session ends"},
			{"v14", fenceHolds, "one node has the lowest number, and the next follows when it has gone"},
			{"v15", fenceHolds, "one lease at a time, each with a higher token than the last"},
			{"v15-write-only", fenceHolds, "no lease expires, so nobody writes with an old token"},
			{"v16", lockFree, "who finds the stock written by another since its read writes nothing, and begins again"},
			{"v17", lockFree, "the script reads, decides and writes in one step"},
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
			{"v5.5", leaseHolds, "the lock lies in Redis, and no renewal falls due"},
			{"v6", leaseHolds, "both instances need three of the same five nodes"},
			{"v7", leaseHolds, "the hash lies in Redis, and each release wakes one waiter per instance"},
			{"v7-cached", leaseHolds, "as v7, when no caller comes a second time: the hash lies in Redis, and each release wakes one waiter per instance"},
			{"v8", leaseHolds, "the queue lies in Redis, one for all instances"},
			{"v9", leaseHolds, "the lock lies in Redis, and no renewal falls due"},
			{"v9-naive", leaseHolds, "as v9, when an order names one product: the lock lies in Redis, and no renewal falls due"},
			{"v9-nodes", leaseHolds, "both instances need all of the same five nodes, and ask them in the same order"},
			{"v10", leaseHolds, "the set of those inside lies in Redis, and a writer finds it empty or waits"},
			{"v11", leaseHolds, "the set lies in Redis, and the script counts before it adds"},
			{"v11-two", oversold, "two permits: whoever shares them, two read the same stock"},
			{"v12", leaseHolds, "the row lies in one database, which puts the tries of all instances in order"},
			{"v12-session", leaseHolds, "the server gives its lock to one connection at a time, whoever made it"},
			{"v13", fenceHolds, "the node lies in ZooKeeper, which all instances share"},
			{"v14", fenceHolds, "the queue lies in ZooKeeper, which all instances share"},
			{"v15", fenceHolds, "the lock and its tokens lie in Redis"},
			{"v15-write-only", fenceHolds, "no lease expires, so nobody writes with an old token"},
			{"v16", lockFree, "Redis itself watches the key, for all instances"},
			{"v17", lockFree, "the script runs where the stock lies"},
		},
	},
	crash, slowWork, lateRelease, checkDeleteGap, pause, pauseAtWork, hungHolder, soldOutRestock,
	writeOnlyFence,
	nested, queueOrder, herd, oppositeOrder, readersAndWriter,
	cutOff, replyLost, lateReply, redisDown, minorityDown, majorityDown, quorumReturns,
	nodeRestart, delayedRestart, clockJump, failover, stockFailover,
}

// Find finds a scenario by its name.
func Find(name string) (Scenario, bool) {
	for _, s := range Table {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// Expected finds what the table says of a scenario and a rung.
func Expected(scenario, rung string) (Expectation, bool) {
	s, _ := Find(scenario)
	for _, e := range s.Expect {
		if e.Rung == rung {
			return e, true
		}
	}
	return Expectation{}, false
}

// NameOf returns the name of the rung of that number.
func NameOf(number string) string { return rungOf(number).Name }

func rungOf(number string) Rung {
	for _, r := range Rungs {
		if r.Number == number {
			return r
		}
	}
	return Rung{}
}
