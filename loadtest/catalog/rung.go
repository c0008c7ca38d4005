package catalog

import (
	"cmp"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// Kind is where the lock of a rung is, which decides how it ends without a release.
type Kind string

// The kinds of lock.
const (
	Redis      Kind = "Redis"
	Nodes      Kind = "five nodes" // of Redis
	SQLRow     Kind = "SQL row"
	SQLSession Kind = "SQL session" // the database ends the lock with the connection
	ZooKeeper  Kind = "ZooKeeper"   // the server ends the lock with the session
	NoLock     Kind = "no lock"     // a mutex in one process counts as none: instances do not share it
)

// A Rung has the facts of a rung of the ladder. An instance itself reports what a rung needs in order to run.
type Rung struct {
	Number, Name string
	Kind         Kind
	// First reports whether a first run includes it: the article's ladder, and the answers to it.
	First bool
	// Judged are the verdicts that apply to the rung. A scenario may add one more.
	Judged []history.Verdict
	Shelf
	Lock
	Variant Variant
}

// Shelf names the commands by which an order reads and writes the stock, in the notation of fault points.
type Shelf struct {
	Read, Write string
	// Fenced reports whether the stock refuses stale fencing tokens, on both.
	Fenced bool
}

// Lock names the command by which an order acquires the lock, in the notation of fault points, and how the lock ends.
type Lock struct {
	Acquire string
	// Taken is the command after which an order knows that the lock is taken, and that it will be woken when it is free.
	Taken string
	// Gap is the worst point for a crash, if that is not before the write of the stock.
	Gap string
	// Queue reports whether orders wait in a queue on the server, where they can be counted.
	Queue bool
	// Quorum reports whether a majority of several nodes is enough to grant the lock.
	Quorum bool
	// Replicated reports whether the lock is granted only when replicas have it, if there are any.
	Replicated bool
	// Endless reports whether the lock has neither a TTL nor a session.
	Endless bool
	// Blind reports whether the release can remove the lock of another order after its own lease expired.
	Blind bool
}

// Variant marks a rung as the rung Of with one change. If a scenario does not name the variant, it has the expectation
// and the reason of that rung.
type Variant struct {
	Of string
	// When is a condition: "when an order names one product".
	When string
}

// The verdicts that apply to a rung: one without a lock, one with a mutex in its process, one with a lock on a
// server, and one whose lock draws fencing tokens.
var (
	lockless = []history.Verdict{history.Stock, history.Liveness}
	mutexed  = []history.Verdict{history.Stock, history.Exclusion, history.Liveness}
	locked   = []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness}
	fenced   = append(slices.Clone(locked), history.Fence)
)

// The shelf and the locks that several rungs share.
var (
	plain    = Shelf{Read: "get/stock", Write: "set/stock"}
	compared = Lock{Acquire: "set/lock"}     // the release checks the owner
	numbered = Lock{Acquire: "eval:acquire"} // acquired together with a fencing token
	permit   = Lock{Acquire: "eval:acquire-permit"}
	bySQL    = Lock{Acquire: "sql:acquire"}

	reentrant = Lock{
		Acquire: "eval:acquire-reentrant", Taken: "eval:acquire-reentrant",
	}
)

// Rungs is the ladder, bottom up.
var Rungs = []Rung{
	{Number: "v0", First: true, Name: "nolock", Kind: NoLock, Judged: lockless, Shelf: plain},
	{Number: "v0.5", First: true, Name: "mutex", Kind: NoLock, Judged: mutexed, Shelf: plain},
	{Number: "v1", First: true, Name: "setnx", Kind: Redis, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "setnx", Endless: true}},
	{Number: "v1.5", Name: "setnx-expire", Kind: Redis, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "setnx", Gap: "after:setnx", Blind: true}},
	{Number: "v2", First: true, Name: "set-nx-ex", Kind: Redis, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "set/lock", Blind: true}},
	{Number: "v3", First: true, Name: "owner-check", Kind: Redis, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "set/lock", Blind: true}},
	{Number: "v4", First: true, Name: "lua-release", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared},
	{Number: "v4.5", Name: "if-equal", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared,
		Variant: Variant{Of: "v4"}},
	{Number: "v5", First: true, Name: "watchdog", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared},
	{Number: "v5-as-printed", Name: "as-printed", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared},
	{Number: "v5.5", First: true, Name: "bounded", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared},
	{Number: "v5.7", Name: "replicated", Kind: Redis, Judged: locked, Shelf: plain,
		Lock:    Lock{Acquire: "set/lock", Replicated: true},
		Variant: Variant{Of: "v5.5", When: "on a Redis without replicas"}},
	{Number: "v6", First: true, Name: "redlock", Kind: Nodes, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "set/lock", Quorum: true}},
	{Number: "v7", Name: "reentrant", Kind: Redis, Judged: locked, Shelf: plain, Lock: reentrant},
	{Number: "v7-cached", Name: "cached-reentrancy", Kind: Redis, Judged: locked, Shelf: plain, Lock: reentrant,
		Variant: Variant{Of: "v7"}},
	{Number: "v8", Name: "fair", Kind: Redis, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "eval:acquire-fair", Taken: "eval:acquire-fair", Queue: true}},
	{Number: "v9", Name: "multilock", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared},
	{Number: "v9-naive", Name: "one-by-one", Kind: Redis, Judged: locked, Shelf: plain, Lock: compared,
		Variant: Variant{Of: "v9", When: "when an order names one product"}},
	{Number: "v9-nodes", Name: "every-node", Kind: Nodes, Judged: locked, Shelf: plain, Lock: compared},
	{Number: "v10", Name: "readwrite", Kind: Redis, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "eval:acquire-write"}},
	{Number: "v11", Name: "semaphore", Kind: Redis, Judged: locked, Shelf: plain, Lock: permit},
	{Number: "v11-two", Name: "two-permits", Kind: Redis, Judged: locked, Shelf: plain, Lock: permit},
	{Number: "v12", Name: "sql-row", Kind: SQLRow, Judged: locked, Shelf: plain, Lock: bySQL},
	{Number: "v12-naive", Name: "sql-insert", Kind: SQLRow, Judged: locked, Shelf: plain,
		Lock: Lock{Acquire: "sql:acquire", Endless: true}},
	{Number: "v12-session", Name: "sql-session", Kind: SQLSession, Judged: locked, Shelf: plain, Lock: bySQL},
	{Number: "v13", Name: "zk-ephemeral", Kind: ZooKeeper, Judged: fenced, Shelf: plain,
		Lock: Lock{Acquire: "zk:create", Taken: "zk:watch"}},
	{Number: "v14", Name: "zk-sequential", Kind: ZooKeeper, Judged: fenced, Shelf: plain,
		Lock: Lock{Acquire: "zk:create", Taken: "zk:watch", Queue: true}},
	{Number: "v14-hasty", Name: "zk-hasty", Kind: ZooKeeper, Judged: fenced, Shelf: plain,
		Lock:    Lock{Acquire: "zk:create", Taken: "zk:watch", Queue: true},
		Variant: Variant{Of: "v14"}},
	{Number: "v15", First: true, Name: "fenced", Kind: Redis, Judged: fenced, Lock: numbered,
		Shelf: Shelf{Read: "eval:read", Write: "eval:write", Fenced: true}},
	{Number: "v15-write-only", Name: "write-only-fence", Kind: Redis, Judged: fenced, Lock: numbered,
		Shelf: Shelf{Read: "get/stock", Write: "eval:write"}},
	{Number: "v16", Name: "cas", Kind: NoLock, Judged: lockless, Shelf: plain},
	{Number: "v17", First: true, Name: "atomic", Kind: NoLock, Judged: lockless,
		Shelf: Shelf{Read: "eval:take", Write: "eval:take"}},
	{Number: "v18", Name: "handoff", Kind: Redis, Judged: fenced,
		Lock:    Lock{Acquire: "eval:acquire-handoff"},
		Shelf:   Shelf{Read: "eval:read", Write: "eval:write", Fenced: true},
		Variant: Variant{Of: "v15"}},
	{Number: "v19", Name: "combining", Kind: Redis, Judged: fenced,
		Lock:    Lock{Acquire: "eval:acquire-handoff"},
		Shelf:   Shelf{Read: "eval:read", Write: "eval:write", Fenced: true},
		Variant: Variant{Of: "v18"}},
}

// RungGroups lists the groups of the ladder by which reports select rungs.
var RungGroups = []string{"article", "exhibits", "Redisson", "SQL and ZooKeeper", "hot"}

// Group returns the rung's group of [RungGroups]. An exhibit is named after the rung that it is compared with.
func (r Rung) Group() string {
	switch {
	case strings.Contains(r.Number, "-"):
		return "exhibits"
	case r.OnSQL(), r.OnZooKeeper():
		return "SQL and ZooKeeper"
	case r.Acquire == "eval:acquire-handoff":
		return "hot"
	case slices.Contains([]string{"v7", "v8", "v9", "v10", "v11"}, r.Number):
		return "Redisson"
	}
	return "article"
}

// OnNodes reports whether the lock is on several independent nodes.
func (r Rung) OnNodes() bool { return r.Kind == Nodes }

// OnSQL reports whether the lock is in a database.
func (r Rung) OnSQL() bool { return r.Kind == SQLRow || r.Kind == SQLSession }

// OnSession reports whether the lock is the database server's own: it ends with a connection and not after a TTL.
func (r Rung) OnSession() bool { return r.Kind == SQLSession }

// OnZooKeeper reports whether the lock is a znode: it ends with a session and not after a TTL.
func (r Rung) OnZooKeeper() bool { return r.Kind == ZooKeeper }

// AfterRead returns the point at which an order has read the stock and decides. For a rung that reads and writes in one
// step that is before the step.
func (r Rung) AfterRead() string {
	if r.Read == r.Write {
		return "before:" + r.Read
	}
	return "after:" + r.Read
}

// RungOf returns the rung with this number, the zero Rung if there is none.
func RungOf(number string) Rung {
	if i := Height(number); i < len(Rungs) {
		return Rungs[i]
	}
	return Rung{}
}

// Height returns the position on the ladder of the rung with this number, from 0. An unknown number comes last.
func Height(number string) int {
	i := slices.IndexFunc(Rungs, func(r Rung) bool { return r.Number == number })
	if i < 0 {
		return len(Rungs)
	}
	return i
}

// RungTitle returns a rung's number and name, such as "v4 lua-release". A hyphenated number needs no name.
func RungTitle(number, name string) string {
	if name == "" || strings.Contains(number, "-") {
		return number
	}
	return number + " " + name
}

// NameOf returns the name of the rung with this number, "" if there is none.
func NameOf(number string) string { return RungOf(number).Name }

// TermsOf returns how a lock of the cell ends without a release. An unknown rung counts as one on Redis.
func TermsOf(c *history.Cell) history.Terms {
	if c.Kind == history.Trial {
		return history.TermsOnTrial(c)
	}
	r := RungOf(c.Rung)
	terms := history.Terms{Quorum: r.Quorum}
	switch cmp.Or(r.Kind, Redis) {
	case Redis, Nodes, SQLRow:
		if !r.Endless {
			terms.TTL = c.TTL
		}
	case SQLSession, ZooKeeper:
		terms.Session = true
	case NoLock:
	}
	return terms
}
