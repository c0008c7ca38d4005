package lock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"

	"stockapi/internal/stock"
)

// A Rung is one lock of the ladder, and its description.
type Rung struct {
	// Number and Name each identify the rung: "v4", "lua-release".
	Number, Name string
	// Does and Defect describe how the rung locks, and how it fails.
	Does, Defect string
	// Needs lists the backends of the rung, by the constants below.
	Needs []string
	// Asks lists commands, any one of which Redis has to know. Empty: those of Redis 6 will do.
	Asks []string
	// Wait limits how long a request waits for the lock, unless the request has a limit of its own. Zero: it tries once.
	Wait time.Duration
	// Prefix and the product make the lock's key. Empty: DistributedLock_.
	Prefix string
	// Layout is the type of that key in Redis, as its TYPE command names it. Empty: string.
	Layout string
	// Shelf is the kind of shelf that the rung sells from. Most rungs sell from the plain one, which relies on the lock.
	Shelf stock.Kind
	// Promises are the properties of the rung that not every rung has.
	Promises Promise
	// Sends are the commands by which an order acquires, renews and releases the lock, as a trace names them.
	Sends string

	build func(runtime) TryLock
	read  func(runtime) TryLock // the lock of readers, if they share one
	wait  func(runtime) Waiting // nil: the rung's waiters poll

	all        func(runtime) TryAll // for several products at once, if the rung can sell them
	acquireAll AcquireAll
}

// A Promise is a set of properties that not every rung has.
type Promise int

// The promises.
const (
	InOrder      Promise = 1 << iota // waiters are served in order of arrival
	WritersFirst                     // no reader is served before a writer that waits
	Reentrant                        // the owner may acquire its lock again
	Notifies                         // a release wakes a waiter
	Undoes                           // an acquire without a reply is undone
	Watches                          // the work ends with its lease
	EveryNode                        // the lock is held on every node, not only on most of them
)

// Promised reports whether the rung makes all these promises.
func (r Rung) Promised(all Promise) bool { return r.Promises&all == all }

// Commands lists the commands that an order which sells, or one that only reads, may send to the lock server and to the
// shelf, by the names of the points of faults: get and set name the key, too.
func (r Rung) Commands(reads bool) []string {
	never := "eval:acquire-read"
	if reads {
		never = "set/stock"
	}
	return slices.DeleteFunc(append(strings.Fields(r.Sends), r.Shelf.Commands()...),
		func(command string) bool { return command == never })
}

// Commands that orders of several rungs send.
const (
	byToken   = "set/lock eval:release" //nolint:gosec // no credentials
	renewed   = "set/lock eval:renew eval:release"
	reenters  = "eval:acquire-reentrant eval:renew-reentrant eval:release-reentrant"
	permitted = "eval:acquire-permit eval:renew eval:release"
	numbers   = "eval:acquire eval:renew eval:release eval:forget-fence"
	byRow     = "sql:acquire sql:renew sql:release"
	byNode    = "zk:container zk:create zk:children zk:exists zk:watch zk:check zk:sync zk:delete"
	inCohorts = "eval:acquire-handoff eval:renew-reentrant eval:release-handoff eval:leave-fair"
)

// The backends that a rung may need.
const (
	NeedRedis     = "redis"
	NeedRedlock   = "redlock"
	NeedZooKeeper = "zookeeper"
	NeedSQL       = "sql"
	// NeedSQLServer is a database that runs as a process of its own: MariaDB, MySQL or PostgreSQL.
	NeedSQLServer = "sql-server"
)

// Ladder lists all rungs, lowest first. A new rung is a file and an entry here.
func Ladder() []Rung {
	redis, nodes := []string{NeedRedis}, []string{NeedRedlock}
	zookeeper, database := []string{NeedZooKeeper}, []string{NeedSQL}
	return []Rung{
		{Number: "v0", Name: "nolock", build: noLock,
			Does:   "takes no lock",
			Defect: "no mutual exclusion"},
		{Number: "v0.5", Name: "mutex", build: mutex, Wait: 20 * time.Second,
			Does:   "an in-process mutex, one for all products",
			Defect: "no mutual exclusion between instances"},
		{Number: "v1", Name: "setnx", build: setNX, Needs: redis,
			Sends:  "setnx del/lock",
			Does:   "SETNX, then DEL",
			Defect: "no TTL: a crash locks the product for ever"},
		{Number: "v1.5", Name: "setnx-expire", build: setNXExpire, Needs: redis,
			Sends:  "setnx pexpire del/lock",
			Does:   "SETNX, then EXPIRE, then DEL",
			Defect: "a crash between SETNX and EXPIRE locks the product for ever"},
		{Number: "v2", Name: "set-nx-ex", build: setNXEX, Needs: redis,
			Sends:  "set/lock del/lock",
			Does:   "SET NX EX, then DEL",
			Defect: "expires under slow work, then deletes somebody else's lock"},
		{Number: "v3", Name: "owner-check", build: ownerCheck, Needs: redis,
			Sends:  "set/lock get/lock del/lock",
			Does:   "SET NX EX of a token; GET, compare, DEL",
			Defect: "the lock can change hands between GET and DEL"},
		{Number: "v4", Name: "lua-release", build: luaRelease, Needs: redis,
			Sends:  byToken,
			Does:   "SET NX EX of a token; compare and delete in one script",
			Defect: "still expires under slow work"},
		{Number: "v4.5", Name: "if-equal", build: ifEqual, Needs: redis, Asks: []string{delex, delifeq},
			Sends:  "set/lock delex delifeq",
			Does:   "v4 without a script: compare and delete in one command, DELEX IFEQ or DELIFEQ",
			Defect: "still expires under slow work; older servers know neither command"},
		{Number: "v5", Name: "watchdog", build: watchdog, Needs: redis,
			Promises: Undoes,
			Sends:    renewed,
			Does:     "v4 and a timer that renews at TTL/2",
			Defect:   "a paused or partitioned holder does not notice the loss; it renews for ever"},
		{Number: "v5-as-printed", Name: "as-printed", build: asPrinted, Needs: redis,
			Sends:  "set/lock eval:renew-or-recreate eval:release",
			Does:   "v5 with the two slips of the article's listing",
			Defect: "after \"sold out\" its timer recreates the released lock"},
		{Number: "v5.5", Name: "bounded", build: bounded, Needs: redis,
			Promises: Undoes | Watches,
			Sends:    renewed,
			Does:     "v5 with a bound: after a few renewals it cancels the work before the write",
			Defect:   "a pause after its last check"},
		{Number: "v5.7", Name: "replicated", build: replicated, Needs: redis,
			Promises: Undoes | Watches,
			Sends:    renewed + " wait",
			Does:     "v5.5 that enters only after WAIT has confirmed the key on the replicas",
			Defect:   "a replica without the key can still be promoted; a pause"},
		{Number: "v6", Name: "redlock", build: redlock, Needs: nodes, Wait: 20 * time.Second, Prefix: "redlock:",
			wait:     func(rt runtime) Waiting { return withDeadline(Polling(Around(rt.RedlockRetry, rt.Random))) },
			Promises: Undoes | Watches,
			Sends:    renewed,
			Does:     "redsync over N independent nodes, renewed at TTL/2",
			Defect:   "pauses, nodes that forget, clocks that jump"},
		{Number: "v7", Name: "reentrant", build: reentrant,
			Needs: redis, Wait: 20 * time.Second, Prefix: "ReentrantLock_", Layout: "hash",
			wait:     func(rt runtime) Waiting { return rt.notified(channelOf) },
			Promises: Reentrant | Notifies | Undoes | Watches,
			Sends:    reenters,
			Does:     "a hash of owner to count, like Redisson's RLock; a message wakes waiters",
			Defect:   "a pause, as with every lease"},
		{Number: "v7-cached", Name: "cached-reentrancy", build: cachedReentrant,
			Needs: redis, Wait: 20 * time.Second, Prefix: "ReentrantLock_", Layout: "hash",
			wait:     func(rt runtime) Waiting { return rt.notified(channelOf) },
			Promises: Reentrant | Notifies | Undoes | Watches,
			Sends:    reenters,
			Does:     "v7, but the process caches what a caller holds",
			Defect:   "the cache outlives the release: the caller enters without the lock"},
		{Number: "v8", Name: "fair", build: fair,
			Needs: redis, Wait: 20 * time.Second, Prefix: "FairLock_", Layout: "hash",
			wait:     runtime.queued,
			Promises: InOrder | Reentrant | Notifies | Undoes | Watches,
			Sends:    "eval:acquire-fair eval:renew-reentrant eval:release-fair eval:leave-fair",
			Does:     "v7, first come, first served: a queue in Redis, and a release wakes its head",
			Defect:   "a pause, as with every lease"},
		{Number: "v9", Name: "multilock", build: single(multilock), all: multilock, acquireAll: AllAtOnce,
			Needs: redis, Wait: 20 * time.Second,
			Promises: Undoes | Watches,
			Sends:    renewed,
			Does:     "several products: v5.5 on each, in sorted order, all or none; holds none while it waits",
			Defect:   "starves while others sell its products one by one"},
		{Number: "v9-naive", Name: "one-by-one", build: single(multilock), all: multilock, acquireAll: oneByOne,
			Needs: redis, Wait: 20 * time.Second,
			Promises: Undoes | Watches,
			Sends:    renewed,
			Does:     "several products: one lock after the other, as ordered, waiting while holding",
			Defect:   "two orders with the same products in opposite order deadlock"},
		{Number: "v9-nodes", Name: "every-node", build: everyNode, Needs: nodes, Wait: 20 * time.Second, Prefix: "redlock:",
			Promises: Undoes | Watches | EveryNode,
			Sends:    renewed,
			Does:     "v9 over one key on each of v6's nodes: all of them or none",
			Defect:   "one node down stops all sales"},
		{Number: "v10", Name: "readwrite", build: writing, read: reading,
			Needs: redis, Prefix: "ReadWriteLock_", Layout: "zset",
			wait:     func(rt runtime) Waiting { return rt.marked(rt.backoff()) },
			Promises: WritersFirst | Undoes | Watches,
			Sends:    "eval:acquire-write eval:acquire-read eval:renew eval:release",
			Does:     "shared by readers, exclusive for a writer; a waiting writer keeps new readers out",
			Defect:   "a stream of writers starves readers; a pause"},
		{Number: "v11", Name: "semaphore", build: semaphore(1), Needs: redis, Prefix: "Semaphore_", Layout: "zset",
			Promises: Undoes | Watches,
			Sends:    permitted,
			Does:     "a sorted set of token to deadline, with one entry a permit: one, unless an order asks for more",
			Defect:   "callers that disagree about the number of permits; a pause"},
		{Number: "v11-two", Name: "two-permits", build: semaphore(2), Needs: redis, Prefix: "Semaphore_", Layout: "zset",
			Promises: Undoes | Watches,
			Sends:    permitted,
			Does:     "v11 with two permits",
			Defect:   "only a third order is kept out: two sell the same unit"},
		{Number: "v12", Name: "sql-row", build: sqlRow, Needs: database, Wait: 20 * time.Second,
			Promises: Reentrant | Undoes | Watches,
			Sends:    byRow,
			Does:     "a row in an SQL database with owner, count, and expiry by the database's clock; renewed at TTL/2",
			Defect:   "the database is the lock server; a pause, as with every lease"},
		{Number: "v12-naive", Name: "sql-insert", build: sqlNaive, Needs: database,
			Sends:  "sql:acquire sql:release",
			Does:   "INSERT of a row under a unique key in an SQL database, then DELETE",
			Defect: "no expiry: a crash locks the product for ever; no owner, no retry"},
		{Number: "v12-session", Name: "sql-session", build: sqlSession,
			Needs: []string{NeedSQLServer}, Wait: 20 * time.Second,
			Sends:  "sql:acquire sql:check sql:release",
			Does:   "the SQL server's own lock, held by a connection that is monitored",
			Defect: "no TTL: the lock lasts as long as its connection"},
		{Number: "v13", Name: "zk-ephemeral", build: zkEphemeral, Needs: zookeeper, Wait: 20 * time.Second,
			wait:     func(rt runtime) Waiting { return zkNodes{rt, ephemeralIn}.untilRemoved },
			Promises: Notifies | Undoes | Watches,
			Sends:    byNode,
			Does:     "an ephemeral znode, which ends with its creator's session",
			Defect:   "a release wakes all waiters, and one of them gets in"},
		{Number: "v14", Name: "zk-sequential", build: zkSequential, Needs: zookeeper, Wait: 20 * time.Second,
			wait:     func(rt runtime) Waiting { return zkNodes{rt, sequentialIn}.inQueue },
			Promises: InOrder | Notifies | Undoes | Watches,
			Sends:    byNode,
			Does:     "a queue of ephemeral sequential znodes, each waiting for the one before it",
			Defect:   "a paused client does not notice that its session has ended"},
		{Number: "v14-hasty", Name: "zk-hasty", build: zkHasty, Needs: zookeeper, Wait: 20 * time.Second,
			wait:   func(rt runtime) Waiting { return zkNodes{rt, sequentialIn}.inQueueOnce },
			Sends:  byNode,
			Does:   "v14, but a waiter does not check again after its wait, and assumes that it holds the lock",
			Defect: "the node before its own was only a waiter that died; or the work takes longer than its wait"},
		{Number: "v15", Name: "fenced", build: fenced, Needs: redis, Shelf: stock.Fenced,
			Promises: Undoes | Watches,
			Sends:    numbers,
			Does:     "a lease with a fencing token, which the stock checks on read and on write",
			Defect:   "the lock can fail; the stock does not"},
		{Number: "v15-write-only", Name: "write-only-fence", build: fenced, Needs: redis, Shelf: stock.WriteFenced,
			Promises: Undoes | Watches,
			Sends:    numbers,
			Does:     "v15, but the stock checks the token on write only",
			Defect:   "both read, then both write, the older token first"},
		{Number: "v16", Name: "cas", build: noLock, Shelf: stock.CAS, Wait: 20 * time.Second,
			Does:   "no lock: read; WATCH, compare, MULTI, write, EXEC; retry if somebody else wrote",
			Defect: "retries under contention"},
		{Number: "v17", Name: "atomic", build: noLock, Shelf: stock.Atomic,
			Does:   "no lock: check and decrement in one script",
			Defect: "none: the control. But no work fits between its read and its write"},
		{Number: "v18", Name: "handoff", build: handoff,
			Needs: redis, Wait: 20 * time.Second, Prefix: "HandoffLock_", Shelf: stock.Fenced,
			wait:     runtime.inCohorts,
			Promises: InOrder | Notifies | Undoes | Watches,
			Sends:    inCohorts,
			Does:     "v15 in v8's queue; a release hands the lease to the next order of the same instance",
			Defect:   "as v15; an instance waits while others have their turns"},
		{Number: "v19", Name: "combining", build: combining,
			Needs: redis, Wait: 20 * time.Second, Prefix: "CombiningLock_", Shelf: stock.Combined,
			wait:     runtime.inCohorts,
			Promises: InOrder | Notifies | Undoes | Watches,
			Sends:    inCohorts,
			Does:     "v18 that serves all waiters under one lease: one read and one write for the batch",
			Defect:   "as v18; the slowest of a batch holds up the others"},
	}
}

// Key returns the key that guards a product on this rung.
func (r Rung) Key(product string) string {
	if r.Prefix == "" {
		return "DistributedLock_" + product
	}
	return r.Prefix + product
}

// Build returns the rung's lock on the given backends, and the Waiting for it.
func (r Rung) Build(b Backends) (TryLock, Waiting) {
	rt := newRuntime(b)
	wait := Polling(rt.backoff())
	if r.wait != nil {
		wait = r.wait(rt)
	}
	return detectForeign(rt, r, r.build(rt)), wait
}

// SellsSeveral reports whether an order on this rung may name several products.
func (r Rung) SellsSeveral() bool { return r.all != nil }

// BuildSeveral returns the rung's lock of several products and the function that takes it, or nil if the rung sells one
// product at a time.
func (r Rung) BuildSeveral(b Backends) (TryAll, AcquireAll) {
	if r.all == nil {
		return nil, nil
	}
	return r.all(newRuntime(b)), r.acquireAll
}

// BuildRead returns the lock that the rung's readers share, and the Waiting for it, or nil if they do not share one.
func (r Rung) BuildRead(b Backends) (TryLock, Waiting) {
	if r.read == nil {
		return nil, nil
	}
	rt := newRuntime(b)
	return detectForeign(rt, r, r.read(rt)), Polling(rt.backoff())
}

// ErrNoRung means that the ladder has no such rung.
var ErrNoRung = errors.New("no such rung")

// Find returns the rung with that number or name, in upper or lower case, or ErrNoRung, which lists the rungs and
// proposes the one with the nearest number or name.
func Find(id string) (Rung, error) {
	var known []string
	near, least, lower := "", 3, strings.ToLower(id)
	for _, r := range Ladder() {
		for _, name := range []string{r.Number, r.Name} {
			if lower == name {
				return r, nil
			}
			if far := levenshtein.ComputeDistance(lower[:min(len(lower), 32)], name); far < least {
				near, least = fmt.Sprintf(" (did you mean %s?)", name), far
			}
		}
		known = append(known, r.Number)
	}
	return Rung{}, fmt.Errorf("%w: %.32q%s; there are %s", ErrNoRung, id, near, strings.Join(known, ", "))
}
