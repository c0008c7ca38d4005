package handlers

import (
	"context"
	"sync"
	"time"
)

// readyTime bounds how long /readyz waits for a backend.
const readyTime = 500 * time.Millisecond

// readyFor is how long an answer to "ready?" holds, so that a flood of probes is no load on the backends.
const readyFor = 250 * time.Millisecond

// A readiness asks the backends on behalf of all probes, one at a time.
type readiness struct {
	check func(context.Context) error

	mu    sync.Mutex
	until time.Time
	last  error
}

// ask returns nil when the backends could serve an order a moment ago. A probe that goes does not take the answer with
// it: the others wait for the same.
func (r *readiness) ask(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	r.last = r.check(ctx)
	r.until = time.Now().Add(readyFor)
	return r.last
}
