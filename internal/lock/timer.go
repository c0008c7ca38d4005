package lock

import (
	"context"
	"sync"
	"time"
)

// every runs tick at each interval until the returned stop is called or the process ends. It keeps the values of ctx,
// not its end: a lease is renewed until it is released, whatever became of the request. Each tick has one interval to
// finish. Stop waits for a tick that is under way, so that nothing is renewed after it has returned; calling it again
// does nothing.
func (b Backends) every(ctx context.Context, interval time.Duration, tick func(context.Context)) (stop func()) {
	end, running := b.start(ctx, interval, tick)
	return func() {
		end()
		running.Wait()
	}
}

func (b Backends) start(
	ctx context.Context, interval time.Duration, tick func(context.Context),
) (end context.CancelFunc, running *sync.WaitGroup) {
	ctx, end = context.WithCancel(context.WithoutCancel(ctx))
	running = new(sync.WaitGroup)
	running.Add(1)
	b.Background.Add(1)
	go func() {
		defer b.Background.Done()
		defer running.Done()
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.Life.Done():
				return
			case <-ticker.C:
				one, done := context.WithTimeout(ctx, interval)
				tick(one)
				done()
			}
		}
	}()
	return end, running
}

// leaks are the timers that v5-as-printed does not stop. They are what the rung is there to show, but a process that
// sells for days would have one for each order that found nothing to buy: so the oldest ends when there are too many.
type leaks struct {
	Backends
	mu   sync.Mutex
	ends []context.CancelFunc
}

// maxLeaks is how many timers are left running at most.
const maxLeaks = 64

// every is [Backends.every]. Whoever does not call stop is to call leave when the lock is given back.
func (l *leaks) every(ctx context.Context, interval time.Duration, tick func(context.Context)) (stop, leave func()) {
	end, running := l.start(ctx, interval, tick)
	stopped := false
	stop = func() {
		stopped = true
		end()
		running.Wait()
	}
	return stop, func() {
		if stopped {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.ends = append(l.ends, end); len(l.ends) > maxLeaks {
			l.ends[0]()
			l.ends = l.ends[1:]
		}
	}
}
