package lock

import (
	"context"
	"fmt"
	"time"
)

// writing is v10 for those who write: they are alone. Readers and writers stand in one sorted set, each with a deadline of
// its own by Redis' clock, as the permits of a semaphore. A writer that waits leaves a mark beside it, and no reader gets in
// past it: readers that come one after the other without a gap would keep it waiting for ever. A reader that asks for the
// write lock is refused: it would wait for itself.
// Defect: now writers that come without a gap keep the readers waiting. And a pause, as of every lease.
func writing(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		if ownerOf(ctx).depth(key) > 0 {
			return nil, ErrUpgrade
		}
		token, validUntil := "w:"+newToken(), time.Now().Add(ttl-drift(ttl))
		free := func(ctx context.Context) error { return releasePermit(ctx, b.Redis, key, token) }
		ok, err := acquireWrite(ctx, b.Redis, key, token, placeOf(ctx), ttl)
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, ErrBusy
		}
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
			return renewPermit(tick, b.Redis, key, token, ttl)
		})
		unlock := func(ctx context.Context) error {
			stop()
			return b.giveBack(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}

// reading is v10 for those who read: they share it with each other.
func reading(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		token, validUntil := "r:"+newToken(), time.Now().Add(ttl-drift(ttl))
		free := func(ctx context.Context) error { return releasePermit(ctx, b.Redis, key, token) }
		ok, err := acquireRead(ctx, b.Redis, key, token, ttl)
		if err != nil {
			b.undo(ctx, err, free)
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		if time.Now().After(validUntil) { // the answer took so long that the lease has ended
			_ = b.giveBack(ctx, free)
			return nil, ErrBusy
		}
		owner := ownerOf(ctx)
		owner.took(key, token)
		ctx, stop := b.keepAlive(ctx, ttl, ttl/2, validUntil, func(tick context.Context) (bool, error) {
			return renewPermit(tick, b.Redis, key, token, ttl)
		})
		unlock := func(ctx context.Context) error {
			owner.gave(key)
			stop()
			return b.giveBack(ctx, free)
		}
		return &Lease{Context: ctx, Token: token, Unlock: unlock}, nil
	}
}
