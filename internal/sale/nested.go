package sale

import (
	"context"
	"fmt"
	"time"
)

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
