package replay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A command that waited at a wire took effect when it was sent on, and not when the instance sent it. A script that the
// server did not know was sent twice, and took effect the second time.
func TestTheTimesOfACommandAreThoseOfItsWire(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	lock := &schedule.Server{Index: 1, Name: "lock", Host: "lock:1"}
	log := []*command{
		{Command: schedule.Command{Server: lock, Name: "del"}, sent: at(2000), answered: at(2010)},
		{Command: schedule.Command{Server: lock, Name: "eval:release"}, sent: at(3000), answered: at(3001)},
	}
	trace := func(cmd, node string, from, to int) history.Command {
		return history.Command{Cmd: cmd, Node: node, At: history.At(start, at(from)), End: history.At(start, at(to))}
	}
	op := history.Op{Trace: []history.Command{
		trace("del", "lock:1", 50, 2020), trace("del", "stock:1", 50, 2020), trace("get", "lock:1", 50, 2020),
		trace("eval:release", "lock:1", 2030, 2990), trace("eval:release", "lock:1", 2995, 3005),
	}}
	narrow(&op, start, log)
	assert.Equal(t, []history.Command{
		trace("del", "lock:1", 2000, 2010), trace("del", "stock:1", 50, 2020), trace("get", "lock:1", 50, 2020),
		trace("eval:release", "lock:1", 2030, 2990), trace("eval:release", "lock:1", 3000, 3001),
	}, op.Trace)
}

// An instance that gives a command up while no time is to pass has timed out: the replay is too slow.
func TestACommandThatIsGivenUpIsNoted(t *testing.T) {
	g := newGate(nil)
	g.begin()
	c := named(0, "a")
	gone := make(chan struct{})
	close(gone)
	assert.Equal(t, schedule.TooLate, g.wait(waits(c, 0, "get"), gone))
	assert.Empty(t, g.given, "time passes")
	g.still = true
	assert.Equal(t, schedule.TooLate, g.wait(waits(c, 0, "get"), gone))
	assert.Equal(t, "a gave up get stock", g.given)
}

// The connection of a dead client closes at about the time at which the gate forgets what it had sent. Whichever comes
// first, the wire goes on.
func TestACommandOfADeadClientKeepsNobody(t *testing.T) {
	for name, bury := range map[string]func(*gate, *schedule.Client){
		"as it dies": func(g *gate, c *schedule.Client) { g.Retire(c) },
		"at the end": func(g *gate, _ *schedule.Client) { g.OpenAll() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, c := newGate(nil), named(0, "a")
				g.begin()
				gone, decided := make(chan struct{}), make(chan schedule.Decision, 1)
				go func() { decided <- g.wait(waits(c, 0, "get"), gone) }()
				synctest.Wait()
				require.Len(t, g.Of(&c.Client), 1)
				g.Change(func() { c.Dead = true })
				bury(g, &c.Client)
				close(gone)
				synctest.Wait()
				require.Len(t, decided, 1, "the command waits still")
				assert.Contains(t, []schedule.Decision{schedule.Fail, schedule.TooLate}, <-decided)
				assert.Empty(t, g.Of(&c.Client))
			})
		})
	}
}

func TestAStepThatCannotBeTakenSaysWhatWaits(t *testing.T) {
	trace, err := schedule.ParseTrace("v4:aa")
	require.NoError(t, err)
	c := named(0, "a")
	p := &player{trace: trace, gate: newGate(nil), clients: []*participant{c}}
	p.gate.begin()
	p.gate.come(t, waits(c, 0, "get"))
	assert.EqualError(t, p.stuck(1, assert.AnError),
		"step 2 of the trace, a, cannot be taken: "+assert.AnError.Error()+"; waiting are: a (get stock)")
	assert.ErrorContains(t, p.check(schedule.Step{Kind: schedule.NodeDown, Who: 3}), "there are 0 lock servers")
	c.Dead = true
	assert.ErrorContains(t, p.check(schedule.Step{}), "a is dead")
	assert.NoError(t, p.check(schedule.Step{Kind: schedule.Time}))
}
