package lock

import (
	"context"
	"sync"
)

// mutex is v0.5: one mutex per product, in the memory of this process. LoadOrStore does in a process what SETNX does in
// Redis. The holder stores a channel and closes it when it releases, which wakes the waiters ([untilReleased]). The
// mutex excludes the requests of this instance, and none of another instance.
func mutex(runtime) TryLock {
	var held sync.Map
	return func(ctx context.Context, key string, _ Options) (*Lease, error) {
		released := make(chan struct{})
		theirs, taken := held.LoadOrStore(key, released)
		if taken {
			return nil, busyUntil{theirs.(chan struct{})}
		}
		unlock := func(context.Context) error {
			held.Delete(key)
			close(released)
			return nil
		}
		return &Lease{Context: ctx, Token: "1", unlock: unlock}, nil
	}
}
