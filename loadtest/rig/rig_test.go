package rig

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

func TestOrderInFlightUntilItsCallerHangsUp(t *testing.T) {
	o := NewInFlight("p-anna", 1)
	assert.False(t, o.IsUnderWay(), "it was not sent")
	o.Send(t.Context(), func(ctx context.Context) history.Op {
		<-ctx.Done()
		return history.Op{Outcome: history.Unknown}
	})
	assert.True(t, o.IsUnderWay())
	assert.False(t, o.HasEnded())
	o.HangUp()
	assert.False(t, o.IsUnderWay())
	assert.True(t, o.HasEnded())
	assert.Equal(t, history.Unknown, o.Op.Outcome)
}

func TestNoteOfAFault(t *testing.T) {
	c := &history.Cell{Start: time.Now(), Instances: []history.Instance{{Name: "a"}, {Name: "b"}}}
	held := HoldFault(1500*time.Millisecond, "before set lock", 0)
	NewInFlight("p-bert", 1).Note(c, held, c.Start, c.Start.Add(time.Second))
	NewInFlight("p-anna", 0).Note(c, ServerFault("lost all its data"), c.Start, c.Start)
	assert.Equal(t, []history.Fault{
		{Order: "p-bert", Instance: "b", Text: "held for 1.500 s before set lock", End: history.Instant(time.Second)},
		{Order: "p-anna", Instance: "a", On: "locks", Text: "whose lock server lost all its data"},
	}, c.Faults)
}

func TestTextsOfFaults(t *testing.T) {
	half, lease := 500*time.Millisecond, time.Second
	for text, f := range map[string]history.Fault{
		"stopped for 0.500 s before set/stock under a lease of 1.000 s": StopFault(half, "before set/stock", lease),
		"stopped for 0.500 s under a lease of 1.000 s":                  StopFault(half, "", lease),
		"killed before set/stock":                                       KillFault("before set/stock"),
		"killed":                                                        KillFault(""),
		"cut off from Redis for 0.500 s under a lease of 1.000 s":       CutFault("Redis", half, lease),
		"working 0.500 s under a lease of 1.000 s":                      WorkFault(half, lease),
		"its write held for 500ms":                                      HeldFault("write", false, half),
		"the reply to its read held for 500ms":                          HeldFault("read", true, half),
		"its write in flight for 500ms":                                 LateFault("write", half),
		"the reply to its acquire lost":                                 LostFault("acquire", true),
	} {
		assert.Equal(t, text, f.Text)
	}
	assert.Equal(t, history.FaultStop, StopFault(half, "", lease).Kind)
	assert.Equal(t, history.FaultKill, KillFault("").Kind)
	assert.Equal(t, history.Fault{Kind: history.FaultLost, Command: "write", Text: "its write lost"},
		LostFault("write", false))
	assert.Equal(t, "network", CutFault("Redis", half, lease).On)
}

// newRig returns two instances without processes, and a server that each reaches over its own wire.
func newRig(t *testing.T, apart bool) (r *Rig, store *wire.Store, reached func() []bool) {
	t.Helper()
	store, err := wire.NewStore(0, "redis", "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, err)
	r = &Rig{Gate: wire.NewGate(nil), Stores: []*wire.Store{store}}
	t.Cleanup(r.Close)
	for i := range 2 {
		e := &End{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}}
		server := store.Server
		if apart {
			server = new(*store.Server)
		}
		w, err := wire.New(r.Gate, &e.Client, server, 0)
		require.NoError(t, err)
		e.Wires, r.Ends = []*wire.Wire{w}, append(r.Ends, e)
	}
	return r, store, func() (all []bool) {
		for _, e := range r.Ends {
			rdb := dial(e)
			all = append(all, rdb.Set(t.Context(), "key", "x", 0).Err() == nil)
			require.NoError(t, rdb.Close())
		}
		return all
	}
}

// dial returns a client in place of an instance. It sends nothing on its own.
func dial(e *End) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: e.Wires[0].Host(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
}

func TestInstanceIsCutOffAlone(t *testing.T) {
	r, _, reached := newRig(t, true)
	r.CutOff(r.Ends[0])
	assert.Equal(t, []bool{false, true}, reached())
	r.Rejoin(r.Ends[0])
	assert.Equal(t, []bool{true, true}, reached())
}

func TestServerIsDownForAll(t *testing.T) {
	r, store, reached := newRig(t, false)
	r.TakeDown(store)
	assert.Equal(t, []bool{false, false}, reached())
	r.BringBack(store)
	assert.Equal(t, []bool{true, true}, reached())
}

func TestFreshSendsUntilOneGetsThrough(t *testing.T) {
	var sent []int
	require.NoError(t, Fresh(t.Context(), time.Minute, func(number int) bool {
		sent = append(sent, number)
		return number == 2
	}))
	assert.Equal(t, []int{1, 2}, sent)
	begun := time.Now()
	require.NoError(t, Fresh(t.Context(), 150*time.Millisecond, func(int) bool { return false }))
	assert.GreaterOrEqual(t, time.Since(begun), 150*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, Fresh(ctx, time.Minute, func(int) bool {
		cancel()
		return true
	}), context.Canceled)
}

// A lost request is not carried out; if only the reply is lost, it is.
func TestStepsOfALostCommand(t *testing.T) {
	r, store, _ := newRig(t, false)
	r.Gate.Begin()
	for step, value := range map[schedule.Kind]string{
		schedule.Grant: "x", schedule.LoseReply: "x", schedule.LoseRequest: "", schedule.Drop: "",
	} {
		require.NoError(t, store.Redis.Del(t.Context(), "key").Err())
		rdb, told := dial(r.Ends[1]), make(chan error, 1)
		go func() { told <- rdb.Set(t.Context(), "key", "x", 0).Err() }()
		waiting := func() []*wire.Command { return r.Gate.Of(&r.Ends[1].Client) }
		require.Eventually(t, func() bool { return len(waiting()) > 0 }, time.Minute, time.Millisecond)
		require.NoError(t, r.Take(t.Context(), step, waiting()[0]))
		assert.Equal(t, step == schedule.Grant, <-told == nil, step)
		assert.Equal(t, value, store.Redis.Get(t.Context(), "key").Val(), step)
		require.NoError(t, rdb.Close())
	}
}

// Late puts a command on its way, and Arrive carries it out, unless its server is down by then.
func TestStepsOfALateCommand(t *testing.T) {
	for _, down := range []bool{false, true} {
		r, store, _ := newRig(t, false)
		r.Gate.Begin()
		go func() { _ = dial(r.Ends[1]).Set(t.Context(), "key", "x", 0).Err() }()
		waiting := func() []*wire.Command { return r.Gate.Of(&r.Ends[1].Client) }
		require.Eventually(t, func() bool { return len(waiting()) > 0 }, time.Minute, time.Millisecond)
		require.NoError(t, r.Take(t.Context(), schedule.Late, waiting()[0]))
		assert.Empty(t, store.Redis.Get(t.Context(), "key").Val())
		r.Gate.Change(func() { store.Down = down })
		require.NoError(t, r.Take(t.Context(), schedule.Arrive, r.Gate.LateOf(&r.Ends[1].Client)[0]))
		assert.Equal(t, !down, store.Redis.Get(t.Context(), "key").Val() == "x")
		assert.Empty(t, r.Gate.LateOf(&r.Ends[1].Client))
	}
}

// A step fails if its command does not arrive, or if the client gives it up.
func TestStepWithoutItsCommand(t *testing.T) {
	t.Parallel()
	e := &End{Client: schedule.Client{Name: "a"}}
	r := &Rig{Gate: wire.NewGate(nil)}
	r.Gate.Begin()
	begun := time.Now()
	_, err := (&Player{Rig: r}).Await(t.Context(), e, schedule.Step{})
	require.ErrorIs(t, err, ErrNotSent)
	assert.GreaterOrEqual(t, time.Since(begun), Patience)
	cmd := &wire.Command{Seen: wire.Seen{Command: schedule.Command{Client: &e.Client, Name: "get",
		Server: &schedule.Server{Name: "stock"}}}}
	gone := make(chan struct{})
	go r.Gate.Wait(cmd, gone)
	waiting, err := (&Player{Rig: r}).Await(t.Context(), e, schedule.Step{})
	require.NoError(t, err)
	assert.Same(t, cmd, waiting)
	close(gone)
	require.Eventually(t, func() bool { return len(r.Gate.Of(&e.Client)) == 0 }, time.Minute, time.Millisecond)
	r.Ends = []*End{e}
	err = r.Take(t.Context(), schedule.Grant, cmd)
	require.ErrorIs(t, err, ErrGivenUp)
	assert.EqualError(t, err, "a has closed the connection of get stock")
}

func TestPlayerRefusesImpossibleSteps(t *testing.T) {
	r, _, _ := newRig(t, false)
	p := &Player{Rig: r}
	r.Ends[0].Dead = true
	for text, wrong := range map[string]string{
		"node-down-3": "there are 0 lock servers", "a": "a is dead", "crash-a": "a is dead",
		"give-up-b": "b has no order in flight",
	} {
		trace, err := schedule.ParseTrace("v4:" + text)
		require.NoError(t, err)
		_, err = p.Step(t.Context(), trace.Steps, 0)
		assert.EqualError(t, err, wrong, text)
	}
}

// The reply to a caller's last command is delivered only after the caller has left.
func TestGiveUpPrecedesTheReply(t *testing.T) {
	for text, want := range map[string]bool{
		"a.give-up-a": true, "a.b.give-up-a": true, "a.node-down-1.give-up-a": true, "a.give-up-b": false,
		"aa.give-up-a": false, "a.time.give-up-a": false, "a": false,
	} {
		trace, err := schedule.ParseTrace("v4:" + text)
		require.NoError(t, err)
		assert.Equal(t, want, givesUpNext(trace.Steps[1:], 0), text)
	}
}
