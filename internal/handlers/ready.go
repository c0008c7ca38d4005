package handlers

import (
	"context"
	"sync"
	"time"
)

// readyTime bounds how long /readyz waits for a backend.
const readyTime = 500 * time.Millisecond

// readyFor bounds how long an answer of /readyz is reused, so that many probes put no load on the backends.
const readyFor = 250 * time.Millisecond

// A readiness checks the backends for all probes, one check at a time.
type readiness struct {
	check func(context.Context) error

	mu    sync.Mutex
	until time.Time
	last  error
}

// ask returns nil if the backends could serve an order a moment ago. A probe that disconnects does not cancel the
// check, because others wait for its result.
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
