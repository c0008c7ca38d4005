package rig

import (
	"context"
	"time"
)

// freshGap is the pause between two fresh orders.
const freshGap = 100 * time.Millisecond

// Fresh sends fresh orders one after the other until one gets through or the time within has passed. Send sends order
// number n, from 1, and reports whether to stop: it got through, or no later one can.
func Fresh(ctx context.Context, within time.Duration, send func(number int) (through bool)) error {
	for begun, number := time.Now(), 1; ; number++ {
		through := send(number)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if through || time.Since(begun) > within {
			return nil
		}
		select {
		case <-time.After(freshGap):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
