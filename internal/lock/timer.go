package lock

import (
	"context"
	"sync"
	"time"
)

// every runs tick at each interval until stop is called or the process ends. It outlives ctx: a lease is renewed until
// it is released, even if the request has ended. Each tick has one interval to finish. Stop waits for a tick in
// flight, so that nothing is renewed after it has returned. A second stop is a no-op. With NoRenew nothing runs.
func (rt *runtime) every(
	ctx context.Context, o Options, interval time.Duration, tick func(context.Context),
) (stop func()) {
	return rt.start(ctx, o, interval, tick).stop
}

func (rt *runtime) start(
	ctx context.Context, o Options, interval time.Duration, tick func(context.Context),
) *pending {
	if o.NoRenew {
		return nil
	}
	return rt.later(ctx, interval, func(ctx context.Context) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			one, done := context.WithTimeout(ctx, interval)
			tick(one)
			done()
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
}

// leaks are the timers that v5-as-printed does not stop. The rung exists to show them, but a process that sells for
// days would leak one timer for each order that was sold out. So the oldest timer ends when there are too many.
type leaks struct {
	runtime
	mu   sync.Mutex
	ends []func()
}

// maxLeaks limits how many leaked timers run at a time.
const maxLeaks = 64

// every is [runtime.every], with a second function: call leave when the lock is released. If stop was not called by
// then, the timer counts as leaked.
func (l *leaks) every(
	ctx context.Context, o Options, interval time.Duration, tick func(context.Context),
) (stop, leave func()) {
	timer := l.start(ctx, o, interval, tick)
	stopped := false
	stop = func() {
		stopped = true
		timer.stop()
	}
	return stop, func() {
		if stopped {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ends = append(l.ends, timer.end); len(l.ends) > maxLeaks {
			l.ends[0]()
			l.ends = l.ends[1:]
		}
	}
}
