package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// come puts commands at a gate, one after the other.
func (g *gate) come(t *testing.T, commands ...*wire.Command) {
	t.Helper()
	for _, cmd := range commands {
		before := g.Happened()
		go g.Wait(cmd, t.Context().Done())
		require.Eventually(t, func() bool { return g.Happened() > before }, 5*time.Second, time.Millisecond)
	}
}

// waits returns a waiting command.
func waits(c *participant, server int, name string) *wire.Command {
	return &wire.Command{Seen: wire.Seen{Command: schedule.Command{Client: &c.Client, Name: name,
		Message: name == "message", Server: &schedule.Server{Index: server, Name: []string{"stock", "lock"}[server]}}}}
}

func named(index int, name string) *participant {
	return &participant{End: &rig.End{Client: schedule.Client{Index: index, Name: name}}}
}

// The order of a client's commands does not depend on their arrival.
func TestWaitingCommandsAreOrdered(t *testing.T) {
	g := newGate(nil)
	g.begin()
	c := named(0, "a")
	g.come(t, waits(c, 1, "set"), waits(c, 0, "set"), waits(c, 1, "eval:renew"), waits(c, 0, "get"),
		waits(named(1, "b"), 0, "get"))
	assert.Equal(t, "a (get stock), a2 (set stock), a3 (eval:renew lock), a4 (set lock)", g.text([]*participant{c}))
	assert.Equal(t, "nothing", g.text(nil))
}

// A command that a client sends during another's step was sent because time has passed.
func TestEarlyCommandIsNoted(t *testing.T) {
	g := newGate(nil)
	g.begin()
	a, b := named(0, "a"), named(1, "b")
	g.stepping = &a.Client
	g.come(t, waits(a, 0, "get"))
	assert.False(t, g.takeEarly())
	g.come(t, waits(b, 0, "message"))
	assert.False(t, g.takeEarly(), "a message comes from another client")
	g.come(t, waits(b, 0, "get"))
	assert.True(t, g.takeEarly())
	assert.False(t, g.takeEarly())
}

// An instance that gives up a command while no time is to pass has timed out: the replay is too slow.
func TestGivenUpCommandIsNoted(t *testing.T) {
	g := newGate(nil)
	g.begin()
	c := named(0, "a")
	gone := make(chan struct{})
	close(gone)
	assert.Equal(t, schedule.TooLate, g.Wait(waits(c, 0, "get"), gone))
	assert.Empty(t, g.given, "time passes")
	g.still = true
	assert.Equal(t, schedule.TooLate, g.Wait(waits(c, 0, "get"), gone))
	assert.Equal(t, "a gave up get stock", g.given)
}
