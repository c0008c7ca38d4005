package latch

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// readings counts the readings of Redis' time; the one with the shortest round trip is the best.
const readings = 16

// An Offset is how far Redis' clock is ahead of this machine's: Ahead, plus or minus Within.
type Offset struct {
	Ahead  time.Duration `json:"ahead"`
	Within time.Duration `json:"within"`
}

// ReadClock compares Redis' clock with this machine's. Redis read its clock between a question and its answer, so half
// of the shortest of several round trips bounds the error (Cristian 1989). It also returns the longest round trip,
// which is about how long a message may take.
func ReadClock(ctx context.Context, r redis.Cmdable) (o Offset, longest time.Duration, err error) {
	for i := range readings {
		sent := time.Now()
		there, err := r.Time(ctx).Result()
		took := time.Since(sent)
		if err != nil {
			return Offset{}, 0, err
		}
		within := took/2 + time.Microsecond // TIME has a resolution of 1 µs
		if i == 0 || within < o.Within {
			// By the wall clock: Redis does not know this process' monotonic clock.
			o = Offset{Ahead: there.Sub(sent.Round(0)) - took/2, Within: within}
		}
		longest = max(longest, took)
	}
	return o, longest, nil
}

// Span returns the smallest offset that contains o and p. If these are two readings, it bounds the offset at any time
// between them: a clock drifts in one direction, and one that was set is between before and after.
func (o Offset) Span(p Offset) Offset {
	low, high := min(o.Ahead-o.Within, p.Ahead-p.Within), max(o.Ahead+o.Within, p.Ahead+p.Within)
	return Offset{Ahead: low + (high-low)/2, Within: (high-low)/2 + 1}
}

// Here converts an instant of Redis' clock to this machine's.
func (o Offset) Here(there time.Time) time.Time { return there.Add(-o.Ahead) }
