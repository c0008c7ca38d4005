package lock

import (
	"context"
	"sync"
	"time"
)

// A pending is background work that begins later: the renewal of a lease. Most leases are released before their first
// renewal is due, so until then there is a timer, and no goroutine. Nil: there is nothing to do.
type pending struct {
	timer   *time.Timer
	running sync.WaitGroup

	mu     sync.Mutex
	ended  bool
	cancel context.CancelFunc // ends the work; nil: it has not begun
}

// later runs work after the delay, unless it is ended before. The context of the work outlives ctx: a lease is renewed
// until it is released, even if the request has ended. It ends when the work is ended, or the process ends.
func (rt *runtime) later(ctx context.Context, delay time.Duration, work func(ctx context.Context)) *pending {
	p := new(pending)
	p.timer = time.AfterFunc(delay, func() {
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		if !p.begin(rt.Process, cancel) {
			return
		}
		defer rt.Background.Done()
		defer p.running.Done()
		defer context.AfterFunc(rt.Life, cancel)()
		work(run)
	})
	return p
}

// begin reports whether the work may begin. It may not if it was ended, or if the process has ended.
func (p *pending) begin(process Process, cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || process.Life.Err() != nil {
		return false
	}
	p.cancel = cancel
	p.running.Add(1)
	process.Background.Add(1)
	return true
}

// end ends the work, or keeps it from beginning, and does not wait for it. A second call is a no-op.
func (p *pending) end() {
	if p == nil {
		return
	}
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.cancel != nil {
		p.cancel()
	}
}

// stop is end, and waits until the work has ended.
func (p *pending) stop() {
	if p != nil {
		p.end()
		p.running.Wait()
	}
}
