package load_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

// What was not sent is counted by its reason, and is in no latency.
func TestTheClientCountsWhatItDidNotSend(t *testing.T) {
	r, err := load.Run(t.Context(), load.Plan{
		Requests: 100, Concurrency: 10,
		Send: func(_ context.Context, start time.Time, i int) history.Op {
			if i%4 == 0 {
				return history.Op{Phase: history.Buy, Outcome: history.NotSent, Detail: "no files"}
			}
			op := history.Op{Phase: history.Buy, Outcome: history.Sold, Sent: history.At(start, time.Now())}
			op.Latency = slept(2 * time.Millisecond)
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
	assert.Equal(t, r.Latency, load.LatencyOf(r.Ops))
}

// In an open loop there are two latencies: from when a request was due, and from when it was sent.
func TestAnOpenLoopThatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Millisecond
		r, err := load.Run(t.Context(), load.Plan{
			Requests: 101, Concurrency: 1, Rate: 1000, Seed: 1, // due within 0.1 s, and sent one by one
			Send: func(_ context.Context, start time.Time, _ int) history.Op {
				sent := time.Now()
				return history.Op{Phase: history.Buy, Sent: history.At(start, sent), Latency: slept(each)}
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

// Even a few requests keep the rate.
func TestTheDrawKeepsTheRate(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r, err := load.Run(t.Context(), load.Plan{
				Requests: 11, Concurrency: 11, Rate: 10, Seed: seed,
				Send: func(_ context.Context, start time.Time, _ int) history.Op {
					return history.Op{Sent: history.At(start, time.Now())}
				},
			})
			require.NoError(t, err)
			assert.InEpsilon(t, 10, r.Client.Rate, 1e-6)
			assert.Zero(t, r.Client.Lag.Round(time.Millisecond))
		})
	}
}

// The first requests of all workers are prepared before the barrier, and sent by OpenGate after it. A request that
// cannot be prepared delays nobody.
func TestTheFirstRequestsStandReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 20
		open := make(chan struct{})
		var mu sync.Mutex
		standing := 0
		r, err := load.Run(t.Context(), load.Plan{
			Requests: 50, Concurrency: workers,
			PrepareFirst: func(_ context.Context, ready func(), start func() time.Time, i int) history.Op {
				if i == 7 {
					return history.Op{Phase: history.Buy, Outcome: history.NotSent}
				}
				time.Sleep(time.Duration(i) * time.Second) // to dial
				mu.Lock()
				standing++
				mu.Unlock()
				ready()
				<-open
				return history.Op{Phase: history.Buy, Sent: history.At(start(), time.Now()), Latency: time.Since(start())}
			},
			Begin: func(context.Context) error {
				assert.Equal(t, workers-1, standing)
				return nil
			},
			OpenGate: func() time.Time {
				time.Sleep(3 * time.Millisecond)
				close(open)
				return time.Now()
			},
			Send: func(_ context.Context, start time.Time, i int) history.Op {
				assert.GreaterOrEqual(t, i, workers)
				<-open
				return history.Op{Phase: history.Buy, Sent: history.At(start, time.Now())}
			},
		})
		require.NoError(t, err)
		assert.Equal(t, 3*time.Millisecond, r.Client.Start)
		assert.Equal(t, history.Instant(0), r.Ops[0].Due)
		assert.InEpsilon(t, float64(3*time.Millisecond), float64(r.Latency.Max), 0.01,
			"what came before the barrier is nobody's latency")
	})
}
