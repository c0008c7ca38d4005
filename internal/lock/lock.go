package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"stockapi/internal/batch"
)

// The errors that callers decide on. Every other error of a [TryLock] means that a backend failed, and that the lock is
// not held.
var (
	// ErrBusy means that another owner holds the lock.
	ErrBusy = errors.New("lock is held by another")
	// ErrNoQuorum means that too few Redlock nodes answered for any caller to acquire the lock, or on v5.7 that too few
	// replicas confirmed it.
	ErrNoQuorum = errors.New("no quorum of lock nodes answered")
	// ErrLost means that the lease ended before its holder released it: it expired, or the lock was removed. Unlock
	// returns it, and it is the cause when a lease's context is cancelled.
	ErrLost = errors.New("lease lost")
	// ErrExhausted means that the work needs more renewals than are allowed. It is the cause when the work is
	// cancelled. The lock is still held then, so that there is time to release it.
	ErrExhausted = errors.New("work took longer than its lease may be renewed for")
)

// A TryLock makes one attempt to take the lock called key. It returns a lease, or [ErrBusy], [ErrNoQuorum], or the
// error of the backend. It never waits for the lock: a [Waiting] does that.
type TryLock func(ctx context.Context, key string, o Options) (*Lease, error)

// Options describe the lease that a caller wants. Apart from the TTL, zero means the default of the rung. A rung
// ignores options that do not concern it.
type Options struct {
	// TTL is the duration of the lease unless it is renewed.
	TTL time.Duration
	// NoRenew ends the lease after its TTL, however long the work takes, as Redisson does when its caller gives a lease
	// time.
	NoRenew bool
	// Permits is how many may hold a semaphore at once.
	Permits int64
	// Owner identifies the holder of a reentrant lock. Nil: a new owner, which holds no lock yet.
	Owner *Owner
}

// owner returns the owner, or a new one if there is none.
func (o Options) owner() *Owner {
	if o.Owner == nil {
		return NewOwner(newToken())
	}
	return o.Owner
}

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
	Seat *batch.Seat
	// Sold, unless it is nil, must be called after the sale was written and before Unlock. Only v5-as-printed sets it,
	// because the article's listing stops its timer there and nowhere else.
	Sold func()

	unlock func(ctx context.Context) error // nil: there is nothing to release
	forget func(ctx context.Context) error // nil: a release leaves nothing
}

// Unlock releases the lock, even if ctx has ended. Call it or Forget once, on every path. It returns [ErrLost] if the
// rung can tell that the lock was no longer ours.
func (l *Lease) Unlock(ctx context.Context) error { return end(ctx, l.unlock) }

// Forget is Unlock for a product that does not exist, and for which the stock keeps no fencing token. It also removes
// the state that the lock keeps for a while after its release.
func (l *Lease) Forget(ctx context.Context) error {
	if l.forget == nil {
		return l.Unlock(ctx)
	}
	return end(ctx, l.forget)
}

func end(ctx context.Context, unlock func(context.Context) error) error {
	if unlock == nil {
		return nil
	}
	err := unlock(detach(ctx))
	if wrongType(err) {
		return ErrLost // the key belongs to another program
	}
	return err
}

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
