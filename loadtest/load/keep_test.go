package load_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

func TestEachOpIsKeptAsSoonAsThereIsOne(t *testing.T) {
	var mu sync.Mutex
	kept := map[string]bool{}
	r, err := load.Run(t.Context(), load.Plan{
		Requests: 101, Concurrency: 7,
		Send: func(_ context.Context, _, _ time.Time, i int) history.Op {
			mu.Lock()
			defer mu.Unlock()
			assert.GreaterOrEqual(t, len(kept), i-7, "only what is under way is not kept yet")
			return history.Op{Order: fmt.Sprint(i), Latency: 1}
		},
		Keep: func(op *history.Op) error {
			mu.Lock()
			defer mu.Unlock()
			assert.Positive(t, op.Latency, "it is whole")
			kept[op.Order] = true
			return nil
		},
	})
	require.NoError(t, err)
	assert.Len(t, kept, 101)
	assert.Positive(t, r.Latency.Max)
}

// An op that cannot be kept ends the run: what is left of it would prove nothing.
func TestAnOpThatCannotBeKeptEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	sent := 0
	_, err := load.Run(t.Context(), load.Plan{
		Requests: 1_000_000, Concurrency: 1,
		Send: func(context.Context, time.Time, time.Time, int) history.Op {
			sent++
			return history.Op{}
		},
		Keep: func(*history.Op) error { return full },
	})
	require.ErrorIs(t, err, full)
	assert.Equal(t, 1, sent)
}
