package lock

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed rw_acquire_read.lua
	rwAcquireReadSource string
	//go:embed rw_acquire_write.lua
	rwAcquireWriteSource string

	rwAcquireRead  = redis.NewScript(rwAcquireReadSource)
	rwAcquireWrite = redis.NewScript(rwAcquireWriteSource)
)

// ErrUpgrade says that a reader asked for the write lock. It would wait for all readers to leave, and is one itself.
var ErrUpgrade = errors.New("a reader cannot become a writer: it would wait for itself; give the read lock back first")

// markTTL is how long the mark of a waiting writer keeps new readers out unless it comes again, which it does several
// times in that time. So a writer that dies while it waits is in nobody's way for longer than this.
const markTTL = 500 * time.Millisecond

// marksOf is where waiting writers leave their marks. The braces keep it in the lock's slot of a cluster.
func marksOf(key string) string { return "{" + key + "}:marks" }

// acquireRead returns whether reader got in.
func acquireRead(ctx context.Context, rdb redis.Scripter, key, reader string, ttl time.Duration) (bool, error) {
	n, err := rwAcquireRead.Run(ctx, rdb, []string{key, marksOf(key)}, reader, ttl.Milliseconds()).Int()
	return n == 1, err
}

// acquireWrite returns whether writer got in. If not, it leaves its mark, unless that is "".
func acquireWrite(ctx context.Context, rdb redis.Scripter, key, writer, mark string, ttl time.Duration) (bool, error) {
	keys := []string{key, marksOf(key)}
	n, err := rwAcquireWrite.Run(ctx, rdb, keys, writer, ttl.Milliseconds(), mark, markTTL.Milliseconds()).Int()
	return n == 1, err
}

// marked is a [Waiting] for writers: they poll, and those that go on waiting leave a mark. Who gives up takes it away.
// However long the delay, they come again before their mark ends, or readers would slip in between.
func (b Backends) marked(delay Delay) Waiting {
	before := func(n int) time.Duration { return min(delay(n), markTTL/4) }
	return func(ctx context.Context, key string, patience time.Duration, attempt Attempt) (*Lease, error) {
		if patience <= 0 {
			return attempt(ctx)
		}
		mark := newToken()
		lease, err := poll(context.WithValue(ctx, placeKey{}, mark), patience, before, attempt)
		if err != nil {
			undoPermit(ctx, b.Redis, marksOf(key), mark)
		}
		return lease, err
	}
}
