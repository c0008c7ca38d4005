package sale

import (
	"context"
	"strconv"
	"sync"

	"stockapi/internal/lock"
)

// callers holds the numbers of the callers that have an order under way. Numbers that clients choose are positive,
// numbers of new callers negative.
type callers struct {
	mu   sync.Mutex
	last int64
	busy map[int64]bool
}

// enter returns a context in which that caller takes the locks, and a function to call at the end of the order. Caller
// 0 gets a new number. If the caller has another order under way, enter returns ErrCallerBusy.
func (c *callers) enter(ctx context.Context, caller int64) (context.Context, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if caller == 0 {
		c.last--
		return lock.WithOwner(ctx, lock.NewOwner(strconv.FormatInt(c.last, 10))), func() {}, nil
	}
	if c.busy[caller] {
		return ctx, nil, ErrCallerBusy
	}
	if c.busy == nil {
		c.busy = map[int64]bool{}
	}
	c.busy[caller] = true
	return lock.WithOwner(ctx, lock.NewOwner(strconv.FormatInt(caller, 10))), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, caller)
	}, nil
}
