package lock

import (
	"context"
	"sync"
	"time"
)

// mutex is v0.5: one mutex per product, in the memory of this process. LoadOrStore does in a process what SETNX does in
// Redis. The mutex excludes the requests of this instance, and none of another instance.
func mutex(runtime) TryLock {
	var held sync.Map
	return func(ctx context.Context, key string, _ time.Duration) (*Lease, error) {
		_, taken := held.LoadOrStore(key, "1")
		if taken {
			return nil, ErrBusy
		}
		unlock := func(context.Context) error {
			held.Delete(key)
			return nil
		}
		return &Lease{Context: ctx, Token: "1", Unlock: unlock}, nil
	}
}
