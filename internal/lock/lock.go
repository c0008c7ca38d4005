package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"stockapi/internal/stock"
)

// The errors that callers decide on. Every other error of a [TryLock] means that a backend failed, and that the lock is
// not held.
var (
	// ErrBusy says that somebody else holds the lock.
	ErrBusy = errors.New("lock is held by another")
	// ErrNoQuorum says that too few of the Redlock nodes answered for anybody to get the lock, or on v5.7 that too few
	// replicas confirmed it.
	ErrNoQuorum = errors.New("no quorum of lock nodes answered")
	// ErrLost says that the lease ended before its holder released it: it expired, or somebody removed the lock. Unlock
	// returns it, and it is the cause when a lease's context is cancelled.
	ErrLost = errors.New("lease lost")
	// ErrExhausted says that the work took longer than the lease may be renewed for. It is the cause when the work is
	// cancelled. The lock is still held then, so that there is time to release it.
	ErrExhausted = errors.New("work took longer than its lease may be renewed for")
)

// A TryLock makes one attempt to take the lock called key for ttl. It returns a lease, or [ErrBusy], [ErrNoQuorum], or
// the error of the backend. It never waits for the lock: a [Waiting] does that.
type TryLock func(ctx context.Context, key string, ttl time.Duration) (*Lease, error)

// A Lease is a lock that is held.
type Lease struct {
	// Context is the context to work under. Rungs that watch their lease cancel it with the cause [ErrLost] as soon as
	// the lease may be lost. The others pass the caller's context on.
	Context context.Context
	// Token is the owner token: the value that the lock's key has while the lease is ours. Empty: no lock was taken.
	Token string
	// Fence is the fencing token, which is higher than those of all earlier leases. 0: the rung draws none.
	Fence int64
	// Seat is the holder's seat in the batch of orders that hold the lease together. Nil on rungs without batches.
	Seat *stock.Seat
	// Unlock releases the lock. Call it once, on every path. It returns [ErrLost] if the rung can tell that the lock was
	// no longer ours.
	Unlock func(ctx context.Context) error
	// Sold, unless it is nil, must be called after the sale was written and before Unlock. Only v5-as-printed sets it,
	// because the article's listing stops its timer there and nowhere else.
	Sold func()
}

type forgetKey struct{}

// Forgetting returns a context for the Unlock of a lock whose product does not exist, and of which the stock remembers
// no fencing token. That Unlock also removes what a lock else keeps for a while after it.
func Forgetting(ctx context.Context) context.Context {
	return context.WithValue(ctx, forgetKey{}, true)
}

func forgets(ctx context.Context) bool { return ctx.Value(forgetKey{}) != nil }

// newToken returns 128 random bits as text. A token that all owners share would not tell them apart: see v2.
func newToken() string { return rand.Text() }

// detach returns a context for cleaning up after ctx. It outlives ctx: often ctx has ended, and a release under an
// ended context would leave the key for its whole TTL. It has no deadline of its own, because the backend's client
// limits each command from the moment it is sent. A deadline that is set here could pass while the client still waits
// for an earlier command.
func detach(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx // it never ends
	}
	return context.WithoutCancel(ctx)
}

// detached runs every Unlock of a rung under [detach], so that no rung has to think of it.
func detached(try TryLock) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		return detachedUnlock(try(ctx, key, ttl))
	}
}

// detachedUnlock is [detached] for one lease, or the error that the rung returned instead.
func detachedUnlock(lease *Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	unlock := lease.Unlock
	lease.Unlock = func(ctx context.Context) error {
		return unlock(detach(ctx))
	}
	return lease, nil
}
