package sale

import (
	"context"
	"fmt"
	"time"
)

// work returns the business work of an order: it sleeps for the order's simulated work, or until the context ends. A
// nested order then runs code that takes the lock itself, as code does that does not know that its caller holds it.
func (s *Shop) work(r *rung, o Order) func(context.Context) error {
	if o.Work <= 0 && !o.Nested {
		return noWork
	}
	return func(ctx context.Context) error {
		if o.Work > 0 {
			o.narrated.Works(o.Work)
			timer := time.NewTimer(o.Work)
			defer timer.Stop()
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		}
		if o.Nested && ctx.Err() == nil {
			return s.nested(ctx, r, o)
		}
		return nil
	}
}

func noWork(context.Context) error { return nil }

// nested takes the order's lock a second time, or for a reader the writers' lock, and releases it.
func (s *Shop) nested(ctx context.Context, r *rung, o Order) error {
	o.narrated.Nested("takes its own lock again")
	start := time.Now()
	again, err := s.take(ctx, r.inner, o)
	if err != nil {
		waited := time.Since(start).Round(time.Millisecond)
		return fmt.Errorf("asked again for the lock that it holds, for %s: %w", waited, err)
	}
	o.narrated.Nested("has it twice, and gives one back")
	return again.Unlock(ctx)
}
