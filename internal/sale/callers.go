package sale

import (
	"context"
	"strconv"
	"sync"

	"stockapi/internal/lock"
)

// callers are those with an order under way, by their number. Numbers that clients choose are positive, those given to
// new callers negative.
type callers struct {
	mu   sync.Mutex
	last int64
	busy map[int64]bool
}

// enter returns a context in which locks are taken by that caller, and what to call when its order is over. Caller 0
// gets a number that nobody else has. Or it returns ErrCallerBusy.
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
