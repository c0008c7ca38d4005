package trace

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/stock"
)

func TestMain(m *testing.M) {
	backend.Silence()
	goleak.VerifyTestMain(m)
}

func TestParseFaults(t *testing.T) {
	for _, text := range []string{"sleep:500ms@before:del", "crash@after:setnx", "hold@after:set/lock",
		"sleep:1m0s@after:eval:release", "hold@before:set/stock"} {
		faults, err := ParseFaults(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, faults[0].String())
	}
	faults, err := ParseFaults("sleep:1ms@before:get, sleep:2ms@after:get")
	require.NoError(t, err)
	assert.Len(t, faults, 2)
	for _, text := range []string{"", "crash", "@", "crash@", "crash@during:set", "crash@before:", "explode@before:set",
		"sleep@before:set", "sleep:soon@before:set", "sleep:-1s@before:set", "sleep:61s@before:set", "crash:1s@before:set",
		"crash@before:set/shelf", "crash@before:set,", "a@before:b,a@before:b"} {
		_, err := ParseFaults(text)
		require.ErrorIs(t, err, ErrSyntax, text)
	}
}

func TestParseRefusesTooMany(t *testing.T) {
	_, err := ParseFaults("hold@before:get" + strings.Repeat(",hold@before:get", maxFaults))
	require.ErrorIs(t, err, ErrSyntax)
}

func FuzzParseFaults(f *testing.F) {
	f.Add("sleep:500ms@before:del,crash@after:set/stock")
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := ParseFaults(text)
		if err != nil {
			return
		}
		for _, one := range faults {
			again, err := ParseFaults(one.String())
			if err != nil || again[0].String() != one.String() {
				t.Fatalf("%q became %q: %v", text, one.String(), err)
			}
		}
	})
}

// An order with a hold waits at its point until it is let go on, once; other orders and other keys pass.
func TestHold(t *testing.T) {
	i := new(Injector)
	client := backendtest.Client(t, backendtest.StartEmbedded(t), Observer{Faults: i}.Redis("node"))
	faults, err := ParseFaults("hold@before:set/stock")
	require.NoError(t, err)
	ctx, recorder := Record(context.Background())
	ctx = WithFaults(ctx, "mine", faults)
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
	events := recorder.Events()
	at := slices.IndexFunc(events, func(e Event) bool { return e.Cmd == "fault" })
	require.Len(t, events[at:], 3, "the fault, the command that it held up, and the next")
	assert.False(t, events[at+1].At.Before(events[at].End), "the command was sent after the fault")
}

func TestSleepAfterTheReply(t *testing.T) {
	client := backendtest.Client(t, backendtest.StartEmbedded(t), Observer{Faults: new(Injector)}.Redis("node"))
	faults, err := ParseFaults("sleep:50ms@after:get")
	require.NoError(t, err)
	ctx := WithFaults(context.Background(), "mine", faults)
	began := time.Now()
	_ = client.Get(ctx, "k").Err()
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}
