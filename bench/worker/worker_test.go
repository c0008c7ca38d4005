package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/contender"
)

func TestWhatCounts(t *testing.T) {
	zero := time.Now()
	w := window{begin: zero.Add(time.Second), end: zero.Add(3 * time.Second)}
	var tally Tally
	at := func(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }
	tally.record(w, at(0.2), at(0.4), 9, nil)  // in the warm-up
	tally.record(w, at(0.5), at(1.5), 8, nil)  // ends in the window: done, but its time is not of the window
	tally.record(w, at(1.5), at(2.5), 7, nil)  // all in it
	tally.record(w, at(2.5), at(12.5), 6, nil) // waited far beyond the end
	tally.record(w, at(2.6), at(2.7), 0, errors.New("away"))
	assert.Equal(t, Tally{Done: 2, TookUS: []int64{1_000_000, 10_000_000, 100_000}, Sold: []int64{9, 8, 7, 6}, Failed: 1,
		Error: "away"}, tally)
}

// stub is a contender in memory whose lock lets everybody in, or nobody.
func stub(open bool) *contender.Client {
	var stock atomic.Int64
	return &contender.Client{
		Lock: func(ctx context.Context, _ string) (contender.Held, error) {
			if !open {
				<-ctx.Done()
				return contender.Held{}, ctx.Err()
			}
			time.Sleep(time.Millisecond)
			return contender.Held{Context: ctx, Release: func(context.Context) error { return nil }}, nil
		},
		Sell: func(context.Context, contender.Held) (int64, error) { return stock.Add(1), nil },
	}
}

func TestMeasure(t *testing.T) {
	r := measure(t.Context(), Job{Workload: Hot, Workers: 3, WarmUpMS: 20, ForMS: 50, DrainMS: 1000}, stub(true))
	require.Len(t, r.Workers, 3)
	for _, tally := range r.Workers {
		assert.Positive(t, tally.Done)
		assert.Greater(t, len(tally.Sold), int(tally.Done), "some in the warm-up")
		assert.Zero(t, tally.Failed)
	}
}

func TestAWaiterThatIsNeverServed(t *testing.T) {
	r := measure(t.Context(), Job{Workload: Hot, Workers: 1, WarmUpMS: 0, ForMS: 20, DrainMS: 30}, stub(false))
	assert.EqualValues(t, 1, r.Workers[0].Failed)
	assert.Equal(t, "still waiting 30ms after the measurement ended", r.Workers[0].Error)
	assert.GreaterOrEqual(t, r.Workers[0].TookUS[0], int64(50_000), "its wait is among the times")
}

func TestWorkEndsWithTheInput(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(errors.New("over")) })
	r := measure(ctx, Job{Workload: Hot, Workers: 1, WarmUpMS: 0, ForMS: 60_000, DrainMS: 60_000}, stub(false))
	assert.Equal(t, "over", r.Workers[0].Error)
}

func TestServeRefusesAnUnknownContender(t *testing.T) {
	job, err := json.Marshal(Job{Contender: "v99"})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Serve(strings.NewReader(string(job)+"\n"), &out))
	assert.Contains(t, out.String(), `no contender \"v99\"`)
}
