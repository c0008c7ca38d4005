package sale

import (
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

// enter returns the owner as whom that caller takes the locks, and a function to call at the end of the order. Caller 0
// is a new one. If the caller has another order under way, enter returns ErrCallerBusy.
func (c *callers) enter(caller int64) (owner *lock.Owner, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if caller == 0 {
		c.last--
		return newOwner(c.last), func() {}, nil
	}
	if c.busy[caller] {
		return nil, nil, ErrCallerBusy
	}
	if c.busy == nil {
		c.busy = map[int64]bool{}
	}
	c.busy[caller] = true
	return newOwner(caller), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, caller)
	}, nil
}

func newOwner(caller int64) *lock.Owner { return lock.NewOwner(strconv.FormatInt(caller, 10)) }
