package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// What a caller decides on. Every other error of a [TryLock] means that a backend did not answer as it should, and
// that the lock is not held.
var (
	// ErrBusy says that somebody else holds the lock.
	ErrBusy = errors.New("lock is held by another")
	// ErrNoQuorum says that too few of the Redlock nodes answered for anybody to get the lock.
	ErrNoQuorum = errors.New("no quorum of lock nodes answered")
	// ErrLost says that the lease ended before its owner released it: it expired, or somebody removed it. It is both
	// what Unlock returns and the cause with which a lease's context is cancelled.
	ErrLost = errors.New("lease lost")
	// ErrExhausted says that the work took longer than the lease may be renewed for. The lock is still held then: it is
	// the cause with which the work is cancelled, in time to release it.
	ErrExhausted = errors.New("work took longer than its lease may be renewed for")
)

// A TryLock makes one attempt at the lock called key, for ttl, and never waits: waiting is [Wait]'s. It returns a
// lease, or [ErrBusy], [ErrNoQuorum], or the error of the backend.
type TryLock func(ctx context.Context, key string, ttl time.Duration) (*Lease, error)

// A Lease is a lock that is held.
type Lease struct {
	// Context is the context to work under. Rungs that watch their lease cancel it, with the cause [ErrLost], as soon
	// as the lease may be lost; the others pass the caller's context on.
	Context context.Context
	// Token is what the lock's key holds while the lease is ours. Empty where no lock was taken.
	Token string
	// Fence is the fencing token, higher than that of any lease before. 0 where the rung draws none.
	Fence int64
	// Unlock gives the lock back. Call it once, on every path. It returns [ErrLost] when the rung can tell that the
	// lock was no longer ours.
	Unlock func(ctx context.Context) error
	// Sold, where it is set, is to be called after the sale was written and before Unlock. Only v5-as-printed sets it:
	// the listing stops its timer there and nowhere else.
	Sold func()
}

// newToken returns 128 random bits as text. A token that is the same for every owner is no token: see v2.
func newToken() string { return rand.Text() }

// detach returns the context for cleaning up after ctx: it outlives ctx, because the usual reason to clean up is that
// ctx has ended, and a release that is sent under a dead context leaves the key for its whole TTL. What bounds a release
// are the times that the backend's client gives to each command. They count from when it is sent: a deadline that is set
// here would have run out when the client is slow to give up something else.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}

// detached makes every Unlock of a rung run under [detach], so that no rung has to think of it.
func detached(try TryLock) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		return detachedUnlock(try(ctx, key, ttl))
	}
}

// detachedUnlock does so for what a rung has returned.
func detachedUnlock(lease *Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	unlock := lease.Unlock
	lease.Unlock = func(ctx context.Context) error {
		ctx, cancel := detach(ctx)
		defer cancel()
		return unlock(ctx)
	}
	return lease, nil
}
