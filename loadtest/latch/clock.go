package latch

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// readings is how often Redis is asked for the time: the quickest answer tells most.
const readings = 16

// Offset is how far Redis' clock is ahead of this machine's: by Ahead, give or take Within.
type Offset struct {
	Ahead  time.Duration `json:"ahead"`
	Within time.Duration `json:"within"`
}

// ReadClock compares Redis' clock with this machine's. Redis read its own somewhere between a question and its answer, so
// the shortest of several round trips, halved, is how well the offset is known (Cristian 1989). It also returns the
// longest of the round trips, which is about how long a message may take.
func ReadClock(ctx context.Context, r redis.Cmdable) (o Offset, longest time.Duration, err error) {
	for i := range readings {
		sent := time.Now()
		there, err := r.Time(ctx).Result()
		took := time.Since(sent)
		if err != nil {
			return Offset{}, 0, err
		}
		within := took/2 + time.Microsecond // which is the unit of TIME
		if i == 0 || within < o.Within {
			// By the wall clock: Redis knows nothing of this process' monotonic one.
			o = Offset{Ahead: there.Sub(sent.Round(0)) - took/2, Within: within}
		}
		longest = max(longest, took)
	}
	return o, longest, nil
}

// Span returns the offset that holds both of o and p. Of two readings it bounds the offset at any time between them,
// since a clock that drifts does so in one direction, and one that was set is somewhere between before and after.
func (o Offset) Span(p Offset) Offset {
	low, high := min(o.Ahead-o.Within, p.Ahead-p.Within), max(o.Ahead+o.Within, p.Ahead+p.Within)
	return Offset{Ahead: low + (high-low)/2, Within: (high-low)/2 + 1}
}

// Here turns an instant of Redis' clock into one of this machine's.
func (o Offset) Here(there time.Time) time.Time { return there.Add(-o.Ahead) }
