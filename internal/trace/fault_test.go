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
	for _, text := range []string{"hold@before:del", "hold@after:set/lock",
		"work@after:eval:release", "hold@before:set/stock"} {
		faults, err := ParseFaults(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, faults[0].String())
	}
	faults, err := ParseFaults("hold@before:get, work@after:get")
	require.NoError(t, err)
	assert.Len(t, faults, 2)
	for _, text := range []string{"", "hold", "@", "hold@", "hold@during:set", "hold@before:", "explode@before:set",
		"crash@before:set", "stop@before:set", "sleep:1s@before:set", "hold:1s@before:set",
		"hold@before:set/shelf", "hold@before:set,", "a@before:b,a@before:b"} {
		_, err := ParseFaults(text)
		require.ErrorIs(t, err, ErrSyntax, text)
	}
}

func TestParseRefusesTooMany(t *testing.T) {
	_, err := ParseFaults("hold@before:get" + strings.Repeat(",hold@before:get", maxFaults))
	require.ErrorIs(t, err, ErrSyntax)
}

// A fault at no command of the rung would never fire: the order would sell as if it had no fault.
func TestUnreachableFaultIsRejected(t *testing.T) {
	v4, v17 := []string{"set/lock", "eval:release", "get/stock", "set/stock"}, []string{"eval:take"}
	for _, c := range []struct {
		point    string
		commands []string
		reached  bool
	}{
		{"set", v4, true}, {"set/lock", v4, true}, {"set/stock", v4, true}, {"eval:release", v4, true},
		{"acquire", v4, true}, {"read", v4, true}, {"write", v4, true}, {"release", v4, true},
		{"renew", v4, false}, {"foo", v4, false}, {"get/lock", v4, false}, {"eval:take", v4, false},
		{"write/stock", v4, false}, {"del", v4, false},
		{"read", v17, true}, {"write", v17, true}, {"eval:take", v17, true}, {"acquire", v17, false}, {"set", v17, false},
		{"renew", []string{"eval:renew-reentrant"}, true}, {"release", []string{"zk:delete"}, true},
		{"write", []string{"eval:write"}, true}, {"acquire", []string{"sql:acquire"}, true},
	} {
		faults, err := ParseFaults("hold@before:" + c.point)
		require.NoError(t, err)
		err = Reached(faults, c.commands)
		assert.Equal(t, c.reached, err == nil, "%s of %v: %v", c.point, c.commands, err)
	}
	faults, err := ParseFaults("hold@before:set/stock,hold@after:write/lock")
	require.NoError(t, err)
	require.ErrorContains(t, Reached(faults, v4), `this rung never reaches "write/lock", only acquire (set/lock), `+
		"release (eval:release), read (get/stock), write (set/stock)")
}

func FuzzParseFaults(f *testing.F) {
	f.Add("hold@before:del,work@after:set/stock")
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

// A held order waits at its point until it is released, once; other orders and other keys pass.
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
	assert.False(t, i.Release("another", 0))
	assert.True(t, i.Release("mine", 0))
	require.NoError(t, <-done)
	require.NoError(t, client.Set(ctx, stock.Key("p"), "5", 0).Err(), "it fires once")
	assert.Empty(t, i.Held())
	events := recorder.Events()
	at := slices.IndexFunc(events, func(e Event) bool { return e.Cmd == "fault" })
	require.Len(t, events[at:], 3, "the fault, the command that it held up, and the next")
	assert.False(t, events[at+1].At.Before(events[at].End), "the command was sent after the fault")
}
