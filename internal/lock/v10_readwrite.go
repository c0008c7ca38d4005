package lock

import (
	"context"
	"fmt"
	"time"
)

// writing is v10 for writers: they hold the lock alone. Readers and the writer are members of one sorted set, each with
// a deadline by Redis' clock, as the permits of a semaphore. A writer that waits leaves a mark, which keeps new readers
// out: otherwise readers that come without a gap would keep it waiting for ever. A reader that asks for the write lock
// is refused, since it would wait for itself.
// Defect: now writers that come without a gap keep the readers waiting. And a pause, as on every lease.
func writing(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		if o.owner().depth(key) > 0 {
			return nil, ErrUpgrade
		}
		token, validUntil := "w:"+newToken(), time.Now().Add(o.TTL-drift(o.TTL))
		free := func(ctx context.Context) error { return releasePermit(ctx, rt.Redis, key, token) }
		ok, err := acquireWrite(ctx, rt.Redis, key, token, placeOf(ctx), o.TTL)
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, ErrBusy
		}
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, func(tick context.Context) (bool, error) {
			return renewPermit(tick, rt.Redis, key, token, o.TTL)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}

// reading is v10 for readers: they share the lock.
func reading(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token, validUntil := "r:"+newToken(), time.Now().Add(o.TTL-drift(o.TTL))
		free := func(ctx context.Context) error { return releasePermit(ctx, rt.Redis, key, token) }
		ok, err := acquireRead(ctx, rt.Redis, key, token, o.TTL)
		if err != nil {
			rt.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the reply was so late that the lease has expired
			_ = rt.releaseOrSweep(ctx, free)
			return nil, ErrBusy
		}
		owner := o.owner()
		owner.enter(key, token)
		ctx, stop := rt.keepAlive(ctx, o, o.TTL/2, validUntil, func(tick context.Context) (bool, error) {
			return renewPermit(tick, rt.Redis, key, token, o.TTL)
		})
		unlock := func(ctx context.Context) error {
			owner.exit(key)
			stop()
			return rt.releaseOrSweep(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
