package lock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A runtime holds what a rung is built from: the backends, with every default filled in, and the work that the rungs
// have in common. It keeps leases alive (renewer.go, later.go), sweeps what an indeterminate command may leave
// (sweep.go), and waits for locks (wake.go, queue.go).
type runtime struct {
	Backends
	sweeps chan struct{} // one place for each sweep that may run at a time
	id     string        // names this process in v18's queue
}

func newRuntime(b Backends) runtime {
	if b.Life == nil {
		b.Life = context.Background()
	}
	if b.Background == nil {
		b.Background = new(sync.WaitGroup)
	}
	if b.MaxRenewals == 0 {
		b.MaxRenewals = 3
	}
	if b.RedlockRetry == 0 {
		b.RedlockRetry = time.Second
	}
	if b.RedlockTimeout == 0 {
		b.RedlockTimeout = 50 * time.Millisecond
	}
	if b.Retry == 0 {
		b.Retry = 50 * time.Millisecond
	}
	if b.Random == nil {
		b.Random = rand.N[time.Duration]
	}
	return runtime{b, make(chan struct{}, maxSweeps), newToken()}
}

// backoff returns the delay between the tries of a waiter that polls.
func (rt runtime) backoff() Delay {
	return Backoff(min(2*time.Millisecond, rt.Retry), rt.Retry, rt.Random)
}

// reportWake calls OnWake.
func (rt runtime) reportWake(ctx context.Context, by Notification, on string) {
	if rt.OnWake != nil {
		rt.OnWake(ctx, by, on)
	}
}

// reportRenewal calls OnRenew with the result of a renewal, and returns the result. A key of another type means that
// the lock is not ours any more.
func (rt runtime) reportRenewal(ok bool, err error) (bool, error) {
	if wrongType(err) {
		ok, err = false, nil
	}
	if rt.OnRenew != nil {
		rt.OnRenew(ok && err == nil)
	}
	return ok, err
}
