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
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
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
	return func() {
		cancel()
		running.Wait()
	}
}
