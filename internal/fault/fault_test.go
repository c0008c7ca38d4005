package fault

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

func TestMain(m *testing.M) {
	backend.Silence()
	goleak.VerifyTestMain(m)
}

func TestParse(t *testing.T) {
	for _, text := range []string{"sleep:500ms@before:del", "crash@after:setnx", "hold@after:set/lock",
		"sleep:1m0s@after:eval:release", "hold@before:set/stock"} {
		faults, err := Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, faults[0].String())
	}
	faults, err := Parse("sleep:1ms@before:get, sleep:2ms@after:get")
	require.NoError(t, err)
	assert.Len(t, faults, 2)
	for _, text := range []string{"", "crash", "@", "crash@", "crash@during:set", "crash@before:", "explode@before:set",
		"sleep@before:set", "sleep:soon@before:set", "sleep:-1s@before:set", "sleep:61s@before:set", "crash:1s@before:set",
		"crash@before:set/shelf", "crash@before:set,", "a@before:b,a@before:b"} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrSyntax, text)
	}
}

func TestParseRefusesTooMany(t *testing.T) {
	_, err := Parse("hold@before:get" + strings.Repeat(",hold@before:get", maxFaults))
	require.ErrorIs(t, err, ErrSyntax)
}

func FuzzParse(f *testing.F) {
	f.Add("sleep:500ms@before:del,crash@after:set/stock")
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := Parse(text)
		if err != nil {
			return
		}
		for _, one := range faults {
			again, err := Parse(one.String())
			if err != nil || again[0].String() != one.String() {
				t.Fatalf("%q became %q: %v", text, one.String(), err)
			}
		}
	})
}

// An order with a hold waits at its point until it is let go on, once; other orders and other keys pass.
func TestHold(t *testing.T) {
	i := New(nil, stock.IsKey)
	client := backendtest.Client(t, backendtest.StartEmbedded(t), i)
	faults, err := Parse("hold@before:set/stock")
	require.NoError(t, err)
	ctx, recorder := trace.Record(context.Background())
	ctx = With(ctx, "mine", faults)
	require.NoError(t, client.Set(ctx, "DistributedLock_p", "1", 0).Err(), "a lock is not the stock")
	require.NoError(t, client.Set(context.Background(), stock.Key("p"), "7", 0).Err(), "another order")

	done := make(chan error)
	go func() { done <- client.Set(ctx, stock.Key("p"), "6", 0).Err() }()
	require.Eventually(t, func() bool { return len(i.Held()) == 1 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, "mine", i.Held()[0].Order)
	assert.Equal(t, "hold@before:set/stock", i.Held()[0].Point)
	assert.Equal(t, "7", client.Get(context.Background(), stock.Key("p")).Val(), "not sent yet")
	assert.False(t, i.Release("another"))
	assert.True(t, i.Release("mine"))
	require.NoError(t, <-done)
	require.NoError(t, client.Set(ctx, stock.Key("p"), "5", 0).Err(), "it fires once")
	assert.Empty(t, i.Held())
	require.Len(t, recorder.Events(), 1)
	assert.Equal(t, "fault", recorder.Events()[0].Cmd)
}

func TestSleepAfterTheReply(t *testing.T) {
	client := backendtest.Client(t, backendtest.StartEmbedded(t), New(nil, stock.IsKey))
	faults, err := Parse("sleep:50ms@after:get")
	require.NoError(t, err)
	ctx := With(context.Background(), "mine", faults)
	began := time.Now()
	_ = client.Get(ctx, "k").Err()
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}
