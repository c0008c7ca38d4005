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

	rwAcquireRead  = newScript("acquire-read", rwAcquireReadSource)
	rwAcquireWrite = newScript("acquire-write", rwAcquireWriteSource)
)

// ErrUpgrade means that a reader asked for the write lock. A writer waits for all readers to leave, so it would wait
// for itself.
var ErrUpgrade = errors.New("a reader cannot become a writer: it would wait for itself; give the read lock back first")

// markTTL limits how long the mark of a waiting writer keeps new readers out. The writer renews its mark several times
// in that time. So a writer that dies while it waits blocks readers for markTTL at most.
const markTTL = 500 * time.Millisecond

// marksOf returns the key for the marks of waiting writers. The braces keep it in the lock's slot of a cluster.
func marksOf(key string) string { return "{" + key + "}:marks" }

// acquireRead tries to acquire the read lock, and returns whether it did.
func acquireRead(ctx context.Context, rdb redis.Scripter, key, reader string, ttl time.Duration) (bool, error) {
	n, err := rwAcquireRead.Run(ctx, rdb, []string{key, marksOf(key)}, reader, ttl.Milliseconds()).Int()
	return n == 1, err
}

// acquireWrite tries to acquire the write lock, and returns whether it did. If not, it sets the mark, unless that is
// "".
func acquireWrite(ctx context.Context, rdb redis.Scripter, key, writer, mark string, ttl time.Duration) (bool, error) {
	keys := []string{key, marksOf(key)}
	n, err := rwAcquireWrite.Run(ctx, rdb, keys, writer, ttl.Milliseconds(), mark, markTTL.Milliseconds()).Int()
	return n == 1, err
}

// marked returns a [Waiting] for writers, which polls and leaves a mark. A writer that gives up removes its mark. Even
// if the delay is long, a writer tries again before its mark expires; otherwise readers would get in.
func (rt runtime) marked(delay Delay) Waiting {
	before := func(n int) time.Duration { return min(delay(n), markTTL/4) }
	return func(ctx context.Context, key string, maxWait time.Duration, attempt Attempt) (*Lease, error) {
		if maxWait <= 0 {
			return attempt(ctx)
		}
		mark := newToken()
		lease, err := poll(context.WithValue(ctx, placeKey{}, mark), maxWait, before, attempt)
		if err != nil {
			_ = rt.Redis.ZRem(detach(ctx), marksOf(key), mark).Err() // it expires soon anyway
		}
		return lease, err
	}
}
