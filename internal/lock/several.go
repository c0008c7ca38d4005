package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A TryAll is a [TryLock] for several keys. It gets all of them or none: what it had taken before one was refused it has
// given back when it returns.
type TryAll func(ctx context.Context, keys []string, ttl time.Duration) (*Lease, error)

// A Gathering takes all locks of an order, and waits for as long as [Waiting] does. Attempts are made by try, under the
// order's context; between them a Gathering waits under the context waiting.
type Gathering func(
	order, waiting context.Context, keys []string, patience time.Duration, wait Waiting, try AttemptAll,
) (*Lease, error)

// An AttemptAll is one call of a [TryAll].
type AttemptAll func(ctx context.Context, keys ...string) (*Lease, error)

// one makes the lock of a single key from that of several.
func one(all func(Backends) TryAll) func(Backends) TryLock {
	return func(b Backends) TryLock {
		try := all(b)
		return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
			return try(ctx, []string{key}, ttl)
		}
	}
}

// together tries all keys at once, and holds none of them while it waits.
func together(
	order, waiting context.Context, keys []string, patience time.Duration, wait Waiting, try AttemptAll,
) (*Lease, error) {
	return wait(waiting, keys[0], patience, func(context.Context) (*Lease, error) { return try(order, keys...) })
}

// giveBackAll gives several keys back at once, each with a command and a time of its own: on a cluster they lie on
// different nodes, and one that does not answer is no reason to keep the others.
func (b Backends) giveBackAll(ctx context.Context, keys []string, token string) error {
	failed := make([]error, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() {
			failed[i] = b.giveBack(ctx, func(ctx context.Context) error { return release(ctx, b.Redis, key, token) })
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// renewAll is [renew] for several keys. It returns true only if all of them are still token's.
func renewAll(ctx context.Context, rdb redis.Scripter, keys []string, token string, ttl time.Duration) (bool, error) {
	for _, key := range keys {
		if ok, err := renew(ctx, rdb, key, token, ttl); !ok || err != nil {
			return ok, err
		}
	}
	return true, nil
}

// and returns a lease that stands for both. The next one was taken under the context of the first, so its context ends
// when either is lost. They are given back at once: one whose server does not answer must not keep the other.
func (l *Lease) and(next *Lease) *Lease {
	return &Lease{Context: next.Context, Token: next.Token, Unlock: func(ctx context.Context) error {
		var first error
		var unlocking sync.WaitGroup
		unlocking.Go(func() { first = l.Unlock(ctx) })
		err := next.Unlock(ctx)
		unlocking.Wait()
		return errors.Join(err, first)
	}}
}
