package rig

import (
	"context"
	"testing"
	"time"

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
	NewInFlight("p-bert", 1).Note(c, Held(1500*time.Millisecond, "before set lock"), c.Start, c.Start.Add(time.Second))
	NewInFlight("p-anna", 0).Note(c, ServerFault("lost all its data"), c.Start, c.Start)
	assert.Equal(t, []history.Fault{
		{Order: "p-bert", Instance: "b", Text: "held for 1.500 s before set lock", End: history.Instant(time.Second)},
		{Order: "p-anna", Instance: "a", On: "locks", Text: "whose lock server lost all its data"},
	}, c.Faults)
}

// A step names a command that waits. It is an error if the command does not come, or if its client gives it up.
func TestStepOfACommandThatIsNotThere(t *testing.T) {
	e := &End{Client: schedule.Client{Name: "a"}}
	r := &Rig{Gate: wire.NewGate(nil)}
	r.Gate.Begin()
	begun := time.Now()
	_, err := r.Await(t.Context(), e, 0)
	require.ErrorIs(t, err, ErrNotSent)
	assert.GreaterOrEqual(t, time.Since(begun), Patience)
	cmd := &wire.Command{Seen: wire.Seen{Command: schedule.Command{Client: &e.Client, Name: "get",
		Server: &schedule.Server{Name: "stock"}}}}
	gone := make(chan struct{})
	go r.Gate.Wait(cmd, gone)
	waiting, err := r.Await(t.Context(), e, 0)
	require.NoError(t, err)
	assert.Same(t, cmd, waiting)
	close(gone)
	require.Eventually(t, func() bool { return len(r.Gate.Of(&e.Client)) == 0 }, time.Minute, time.Millisecond)
	err = r.Decide(t.Context(), cmd, schedule.Pass)
	require.ErrorIs(t, err, ErrGivenUp)
	assert.EqualError(t, err, "a has closed the connection of get stock")
}
