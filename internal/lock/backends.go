package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
)

// Backends is what the rungs are built on. A rung takes from it what it needs and says so in its line of [Ladder].
type Backends struct {
	// Redis holds the locks of every rung but v6. It should not retry by itself: a repeated SET NX is refused because
	// of its own first try.
	Redis redis.UniversalClient
	// Redlock are the independent nodes of v6, each a client whose commands end with their context
	// (ContextTimeoutEnabled), so that a dead node costs milliseconds.
	Redlock []redis.UniversalClient
	// RedlockRetry is how long v6 waits between two tries, on average; 0 means 1 s, as in the article.
	RedlockRetry time.Duration
	// RedlockTimeout is how long a node of v6 may take to answer at most, whatever the TTL; 0 means 50 ms.
	RedlockTimeout time.Duration
	// Retry is how long, at most, those wait between two tries who ask again and again, v6 apart; 0 means 50 ms.
	Retry time.Duration
	// ZooKeeper is the session that v13 and v14 lock in. Nil: there is none.
	ZooKeeper *backend.ZooKeeper
	// SQL is the database of v12. Nil: there is none.
	SQL *sqldb.DB
	// MaxRenewals is how often v5.5, and v9 after it, renew a lease; 0 means 3.
	MaxRenewals int
	// Life ends with the process. What a rung leaves running by mistake, or to tidy up, ends with it too. Nil: never.
	Life context.Context
	// Background counts what the rungs leave running, so that the process can wait for it after Life has ended.
	Background *sync.WaitGroup
	// OnRenew, where it is set, is told of every renewal: true when the lease was extended.
	OnRenew func(ok bool)
	// OnWake, where it is set, is told of every waiter that a release has woken, by the message or the watch on what lies
	// there. Waiters that come again by themselves are not woken.
	OnWake func(ctx context.Context, by Call, on string)

	sweeps chan struct{} // as many sweeps as there may be at a time
}

// A Call is how a release reaches those who wait for it.
type Call string

// Calls.
const (
	Message Call = "message" // of Redis, on a channel
	Watch   Call = "watch"   // of ZooKeeper, on a node
)

// woke passes on that a waiter was woken.
func (b Backends) woke(ctx context.Context, by Call, on string) {
	if b.OnWake != nil {
		b.OnWake(ctx, by, on)
	}
}

// renewed passes the result of a renewal to OnRenew, and on. Something of another type is not ours.
func (b Backends) renewed(ok bool, err error) (bool, error) {
	if wrongType(err) {
		ok, err = false, nil
	}
	if b.OnRenew != nil {
		b.OnRenew(ok && err == nil)
	}
	return ok, err
}

// withDefaults fills in what was left out.
func (b Backends) withDefaults() Backends {
	if b.Life == nil {
		b.Life = context.Background()
	}
	if b.Background == nil {
		b.Background = new(sync.WaitGroup)
	}
	if b.MaxRenewals == 0 {
		b.MaxRenewals = 3
	}
	if b.RedlockRetry == 0 {
		b.RedlockRetry = time.Second
	}
	if b.RedlockTimeout == 0 {
		b.RedlockTimeout = 50 * time.Millisecond
	}
	if b.Retry == 0 {
		b.Retry = 50 * time.Millisecond
	}
	if b.sweeps == nil {
		b.sweeps = make(chan struct{}, maxSweeps)
	}
	return b
}

// backoff is between the tries of those who ask again and again.
func (b Backends) backoff() Delay { return Backoff(min(2*time.Millisecond, b.Retry), b.Retry) }

// Missing returns the first backend that the rung needs and that is not there, or "".
func (b Backends) Missing(r Rung) string {
	for _, need := range r.Needs {
		if !b.has(need) {
			return need
		}
	}
	return ""
}

func (b Backends) has(need string) bool {
	switch need {
	case NeedRedlock:
		return len(b.Redlock) > 0
	case NeedZooKeeper:
		return b.ZooKeeper != nil
	case NeedSQL:
		return b.SQL != nil
	case NeedSQLServer:
		return b.SQL != nil && b.SQL.Kind != sqldb.SQLite
	default:
		return b.Redis != nil
	}
}

// breakTime bounds Break, however many backends do not answer.
const breakTime = 3 * time.Second

// Break removes the lock of a product on every rung and every backend, whoever holds it, and returns how many keys
// were removed. Holders are not asked; those that look will find their lease lost. Those who wait are told. One backend
// that fails or does not answer keeps none of the others: all are asked at once, and its error is returned.
func (b Backends) Break(ctx context.Context, product string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, breakTime)
	defer cancel()
	var parts []func(context.Context) (int64, error)
	for _, key := range keysOf(product) {
		for _, node := range append([]redis.UniversalClient{b.Redis}, b.Redlock...) {
			parts = append(parts, func(ctx context.Context) (int64, error) { return breakKey(ctx, node, key) })
		}
	}
	key := Rung{}.Key(product) // on the other backends there is one
	if b.ZooKeeper != nil {
		parts = append(parts, func(ctx context.Context) (int64, error) { return b.breakNodes(ctx, key) })
	}
	if b.SQL != nil && !b.SQL.Unused() {
		parts = append(parts, func(ctx context.Context) (int64, error) { return b.breakSQL(ctx, key) })
	}
	return sum(ctx, parts)
}

// keysOf returns the keys that guard a product in Redis, on any rung.
func keysOf(product string) (keys []string) {
	for _, r := range Ladder() {
		if key := r.Key(product); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// breakKey removes a lock on one server, and what some rungs keep beside theirs, and tells those who wait for it:
// Redisson's message on v7's channel, and the first of v8's queue. The others of that queue take a place again.
func breakKey(ctx context.Context, node redis.UniversalClient, key string) (int64, error) {
	head, _ := node.LIndex(ctx, queueOf(key), 0).Result() // also where the queue is no list, and cannot be read
	// Tokens grow with the clock, and need no count.
	beside := node.Del(ctx, fenceOf(key), queueOf(key), deadlinesOf(key), marksOf(key)).Err()
	removed, err := node.Del(ctx, key).Result()
	publish := node.Publish
	if _, cluster := node.(*redis.ClusterClient); cluster {
		publish = node.SPublish
	}
	told := publish(ctx, channelOf(key), 0).Err()
	if head != "" {
		told = errors.Join(told, publish(ctx, fairChannelOf(key), head).Err())
	}
	return removed, errors.Join(beside, err, told)
}

// sum carries all parts out at once, and returns the sum of what they return, and what failed: each text once.
func sum(ctx context.Context, parts []func(context.Context) (int64, error)) (total int64, failed error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	texts := map[string]bool{}
	for _, part := range parts {
		all.Go(func() {
			n, err := part(ctx)
			mu.Lock()
			defer mu.Unlock()
			total += n
			if err != nil && !texts[err.Error()] {
				texts[err.Error()] = true
				failed = errors.Join(failed, err)
			}
		})
	}
	all.Wait()
	return total, failed
}

// breakSQL is Break for the database, where v12 and v12-session have one key.
func (b Backends) breakSQL(ctx context.Context, key string) (removed int64, err error) {
	rows, err := (&table{db: b.SQL}).remove(ctx, key)
	sessions, failed := breakSession(ctx, b.SQL, key)
	return rows + sessions, errors.Join(err, failed)
}
