package load_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNumberOfRequests(t *testing.T) {
	for _, c := range []struct{ requests, concurrency int }{{1, 1}, {7, 3}, {3, 7}, {100, 99}, {101, 100}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			var sent atomic.Int64
			r, err := load.Run(t.Context(), load.Plan{
				Requests: c.requests, Concurrency: c.concurrency,
				Send: func(_ context.Context, _, _ time.Time, i int) history.Op {
					sent.Add(1)
					return history.Op{Order: fmt.Sprint(i)}
				},
			})
			require.NoError(t, err)
			assert.Equal(t, int64(c.requests), sent.Load())
			require.Len(t, r.Ops, c.requests)
			for i, op := range r.Ops {
				assert.Equal(t, fmt.Sprint(i), op.Order, "each number once, in its place")
			}
		})
	}
}

// answered sleeps for d and returns the latency of a request that was due then, and is answered now.
func answered(due time.Time, d time.Duration) time.Duration {
	time.Sleep(d)
	return time.Since(due)
}

func TestConcurrencyIsKept(t *testing.T) {
	var now, most atomic.Int64
	_, err := load.Run(t.Context(), load.Plan{
		Requests: 60, Concurrency: 6,
		Send: func(context.Context, time.Time, time.Time, int) history.Op {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
			return history.Op{}
		},
	})
	require.NoError(t, err)
	assert.LessOrEqual(t, most.Load(), int64(6))
}

func TestOpenLoopLatencyCountsFromDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Millisecond
		r, err := load.Run(t.Context(), load.Plan{
			Requests: 20, Concurrency: 1, Rate: 1000, // due within some 20 ms, and served one by one
			Send: func(_ context.Context, start, due time.Time, _ int) history.Op {
				return history.Op{Due: history.At(start, due), Latency: answered(due, each)}
			},
		})
		require.NoError(t, err)
		require.Len(t, r.Ops, 20, "none is skipped for being late")
		last := r.Ops[19]
		assert.Equal(t, 20*each-time.Duration(last.Due), last.Latency)
		assert.Greater(t, last.Latency, 19*each)
		assert.InEpsilon(t, float64(last.Latency), float64(r.Latency.Max), 0.02)
	})
}

func TestOpenLoopKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := load.Run(t.Context(), load.Plan{
			Requests: 2000, Concurrency: 10, Rate: 100,
			Send: func(context.Context, time.Time, time.Time, int) history.Op { return history.Op{} },
		})
		require.NoError(t, err)
		assert.InEpsilon(t, 20, r.Elapsed.Seconds(), 0.1)
		assert.Zero(t, r.Latency.P50.Round(time.Millisecond), "sent when due")
	})
}

func TestInterruptedLoadIsNoResult(t *testing.T) {
	why := errors.New("redis died")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := load.Run(ctx, load.Plan{
		Requests: 1000, Concurrency: 3, Rate: 10,
		Send: func(context.Context, time.Time, time.Time, int) history.Op {
			cancel(why)
			return history.Op{}
		},
	})
	require.ErrorIs(t, err, why)
}
