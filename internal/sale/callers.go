package sale

import (
	"errors"
	"sync"
)

// ErrCallerBusy means that the same caller has another order in flight. A caller is like a thread: it does one thing at
// a time, because a reentrant lock cannot tell two orders of one caller apart.
var ErrCallerBusy = errors.New("this caller has an order under way")

// callers holds the numbers of the callers with an order in flight. Numbers that clients choose are positive,
// numbers of new callers negative.
type callers struct {
	mu   sync.Mutex
	last int64
	busy map[int64]bool
}

// enter returns the number under which that caller takes the locks, and a function to call at the end of the order.
// Caller 0 gets a new number. If the caller has another order in flight, enter returns ErrCallerBusy.
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
