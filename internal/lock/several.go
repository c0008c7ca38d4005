package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A TryAll is a [TryLock] for several keys: all or none. If one key is refused, it releases those that it has taken
// before it returns.
type TryAll func(ctx context.Context, keys []string, o Options) (*Lease, error)

// An AcquireAll takes all locks of an order, and waits for maxWait at most. It makes its attempts by try, under the
// order's context, and waits between them under the context waiting.
type AcquireAll func(
	order, waiting context.Context, keys []string, maxWait time.Duration, wait Waiting, try AttemptAll,
) (*Lease, error)

// An AttemptAll is one call of a [TryAll].
type AttemptAll func(ctx context.Context, keys ...string) (*Lease, error)

// single makes the lock of a single key from that of several.
func single(all func(runtime) TryAll) func(runtime) TryLock {
	return func(rt runtime) TryLock {
		try := all(rt)
		return func(ctx context.Context, key string, o Options) (*Lease, error) {
			return try(ctx, []string{key}, o)
		}
	}
}

// OfOne returns a lock for orders of one product: it takes the first key, and there is no other.
func OfOne(try TryLock) TryAll {
	return func(ctx context.Context, keys []string, o Options) (*Lease, error) {
		return try(ctx, keys[0], o)
	}
}

// AllAtOnce tries all keys at once, and holds none of them while it waits. It is an [AcquireAll].
func AllAtOnce(
	order, waiting context.Context, keys []string, maxWait time.Duration, wait Waiting, try AttemptAll,
) (*Lease, error) {
	return wait(waiting, keys[0], maxWait, func(waiting context.Context) (*Lease, error) {
		return try(attemptContext{order, waiting}, keys...)
	})
}

// attemptContext is the context of one attempt: it has the values of waiting, and ends with the order's context.
type attemptContext struct {
	context.Context
	waiting context.Context
}

func (c attemptContext) Value(key any) any { return c.waiting.Value(key) }

// releaseAll releases several keys at once, each by a command with a timeout of its own: on a cluster they are on
// different nodes, and a node that does not answer must not keep the other keys locked.
func (rt runtime) releaseAll(ctx context.Context, keys []string, token string) error {
	failed := make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() {
			failed[i] = rt.releaseOrSweep(ctx, func(ctx context.Context) error {
				return release(ctx, rt.Redis, key, token)
			})
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// renewAll is [renew] for several keys. It returns true only if token still owns all of them.
func renewAll(ctx context.Context, rdb redis.Scripter, keys []string, token string, ttl time.Duration) (bool, error) {
	for _, key := range keys {
		if ok, err := renew(ctx, rdb, key, token, ttl); !ok || err != nil {
			return ok, err
		}
	}
	return true, nil
}

// combine returns one lease for both. The next one was taken under the context of the first, so its context ends when
// either is lost. Both are released at once: a server that does not answer must not keep the other lock.
func (l *Lease) combine(next *Lease) *Lease {
	return &Lease{Context: next.Context, Token: next.Token, unlock: func(ctx context.Context) error {
		var first error
		var unlocking sync.WaitGroup
		unlocking.Go(func() { first = l.Unlock(ctx) })
		err := next.Unlock(ctx)
		unlocking.Wait()
		return errors.Join(err, first)
	}}
}
