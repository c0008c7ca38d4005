package lock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
)

// Backends configures the ladder: the servers that keep the locks, and the process that takes them. [Rung.Needs] says
// which servers a rung needs. The zero value serves the rungs that need none.
type Backends struct {
	// Redis holds the locks of every rung but v6 and v9-nodes. The client must not retry by itself: its own first
	// SET NX would make the second one fail.
	Redis redis.UniversalClient
	// Redlock lists the independent nodes of v6 and v9-nodes. Each client ends a command with its context
	// (ContextTimeoutEnabled), so that a dead node costs milliseconds.
	Redlock []redis.UniversalClient
	// RedlockRetry is the average delay between two tries of v6; 0 means 1 s, as in the article.
	RedlockRetry time.Duration
	// RedlockTimeout is the longest time that a node of v6 may take to answer, whatever the TTL; 0 means 50 ms.
	RedlockTimeout time.Duration
	// Retry is the longest delay between two tries of a waiter that polls, except on v6; 0 means 50 ms.
	Retry time.Duration
	// Random draws the random part of those delays; nil means that of math/rand/v2. Tests that repeat a schedule draw the
	// same delays each time.
	Random Random
	// ZooKeeper is the session that holds the locks of v13, v14 and v14-hasty. Nil: there is none.
	ZooKeeper *backend.ZooKeeper
	// SQL is the database that holds the locks of v12, v12-naive and v12-session. Nil: there is none.
	SQL *sqldb.DB
	// MaxRenewals limits how often v5.5, v5.7 and v9 renew a lease; 0 means 3.
	MaxRenewals int
	// Replicas is the number of replicas that have to confirm a lock of v5.7 and each of its renewals; 0 means that Redis
	// has none.
	Replicas int
	// Commands are the commands that Redis knows, of those that rungs ask for: see [AskCommands].
	Commands []string

	Process
}

// A Process tells the locks when their process ends, and counts their renewals and wake-ups.
type Process struct {
	// Life ends with the process, and ends everything that a rung runs in the background. Nil: never.
	Life context.Context
	// Background counts the background work of the rungs, so that the process can wait for it after Life has ended.
	Background *sync.WaitGroup
	// OnRenew is called after each renewal, with true if the lease was extended. May be nil.
	OnRenew func(ok bool)
	// OnWake is called when a release has woken a waiter. It gets the channel or the node that the waiter listened to. A
	// waiter that tries again by itself was not woken. May be nil.
	OnWake func(ctx context.Context, by Notification, on string)
}

// A Notification is the way a release notifies a waiter.
type Notification string

// Notifications.
const (
	Message Notification = "message" // of Redis, on a channel
	Watch   Notification = "watch"   // of ZooKeeper, on a node
)

// Missing returns the first backend that the rung needs and that is not configured, or the commands that it asks for if
// Redis knows none of them, or "".
func (b Backends) Missing(r Rung) string {
	for _, need := range r.Needs {
		if !b.has(need) {
			return need
		}
	}
	return b.unknown(r)
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
