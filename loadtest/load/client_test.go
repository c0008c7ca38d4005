package load_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

// Unsent orders are counted by reason, and excluded from latencies.
func TestUnsentRequestsAreCounted(t *testing.T) {
	r, err := load.Run(t.Context(), load.Plan{
		Requests: 100, Concurrency: 10,
		Send: func(_ context.Context, start, due time.Time, i int) history.Op {
			if i%4 == 0 {
				return history.Op{Phase: history.Buy, Outcome: history.NotSent, Detail: "no files"}
			}
			op := history.Op{Phase: history.Buy, Outcome: history.Sold, Sent: history.At(start, time.Now())}
			op.Latency = answered(due, 2*time.Millisecond)
			return op
		},
	})
	require.NoError(t, err)
	c := r.Client
	assert.Equal(t, 100, c.Asked)
	assert.Equal(t, 75, c.Delivered)
	assert.Equal(t, map[string]int{"no files": 25}, c.Errors)
	assert.Equal(t, "closed", c.Loop)
	assert.InEpsilon(t, 75/r.Elapsed.Seconds(), c.Rate, 0.001)
	assert.GreaterOrEqual(t, r.Latency.P50, 2*time.Millisecond)
}

// An open loop has two latencies: from when a request was due, and from when it was sent.
func TestOpenLoopFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Millisecond
		r, err := load.Run(t.Context(), load.Plan{
			Requests: 101, Concurrency: 1, Rate: 1000, // due within 0.1 s, and sent one by one
			Send: func(_ context.Context, start, due time.Time, _ int) history.Op {
				op := history.Op{Phase: history.Buy, Due: history.At(start, due), Sent: history.At(start, time.Now())}
				op.Latency = answered(due, each)
				return op
			},
		})
		require.NoError(t, err)
		c := r.Client
		assert.Equal(t, "open", c.Loop)
		assert.InEpsilon(t, 1000, c.AskedRate, 0.001)
		assert.InEpsilon(t, 10, c.Rate, 0.001)
		assert.InEpsilon(t, float64(9900*time.Millisecond), float64(c.Lag), 0.03,
			"the last was due after 0.1 s, and sent after 10")
		assert.InEpsilon(t, float64(each), float64(c.FromSent.P99), 0.01)
		assert.InEpsilon(t, float64(9990*time.Millisecond), float64(r.Latency.P99), 0.03)
	})
}

// The schedule of a few requests also has exactly the plan's rate.
func TestScheduleHasThePlannedRate(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r, err := load.Run(t.Context(), load.Plan{
				Requests: 11, Concurrency: 11, Rate: 10,
				Send: func(_ context.Context, start, due time.Time, _ int) history.Op {
					return history.Op{Due: history.At(start, due), Sent: history.At(start, time.Now())}
				},
			})
			require.NoError(t, err)
			assert.InEpsilon(t, 10, r.Client.Rate, 1e-6)
			assert.Zero(t, r.Client.Lag.Round(time.Millisecond))
		})
	}
}

// Each worker has its own connection by the barrier: none is released before the last one is open.
func TestWarmUpsEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 20
		var open, released atomic.Int64
		r, err := load.Run(t.Context(), load.Plan{
			Requests: 50, Concurrency: workers,
			WarmUp: func(_ context.Context, worker int) func() {
				time.Sleep(time.Duration(worker) * time.Second) // to dial
				open.Add(1)
				return func() {
					assert.EqualValues(t, workers, open.Load())
					released.Add(1)
				}
			},
			Send: func(_ context.Context, start, _ time.Time, _ int) history.Op {
				assert.EqualValues(t, workers, released.Load())
				return history.Op{Phase: history.Buy, Sent: history.At(start, time.Now())}
			},
		})
		require.NoError(t, err)
		assert.Zero(t, r.Client.Start)
	})
}
