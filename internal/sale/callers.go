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

// enter returns the number under which that caller takes the locks, and a function to call at the end of the order.
// Caller 0 gets a new number. If the caller has another order under way, enter returns ErrCallerBusy.
func (c *callers) enter(caller int64) (number int64, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if caller == 0 {
		c.last--
		return c.last, func() {}, nil
	}
	if c.busy[caller] {
		return caller, nil, ErrCallerBusy
	}
	if c.busy == nil {
		c.busy = map[int64]bool{}
	}
	c.busy[caller] = true
	return caller, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, caller)
	}, nil
}

// asCaller returns a context in which the caller of that number takes the locks.
func asCaller(ctx context.Context, number int64) context.Context {
	return lock.WithOwner(ctx, lock.NewOwner(strconv.FormatInt(number, 10)))
}
