package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A waiter may look by one command and acquire by another: the one that it sends most often shows how it waits.
func TestWaiterThatLooks(t *testing.T) {
	f := forge.Begin()
	look := func(ms int, verb string) record.Observation {
		return f.Command(ms, history.EffectTried, verb, forge.LockKey)
	}
	for _, one := range []struct {
		what     string
		commands []record.Observation
		shape    string
		tries    int
	}{
		{"polls by GET", []record.Observation{look(0, "get"), look(50, "get"), look(100, "get"), f.Acquire(150)}, "get lock", 3},
		{"watches, and looks", []record.Observation{look(0, "watch"), look(1, "get"), look(50, "watch"), look(51, "get")},
			"watch lock", 2},
		{"enters a queue, and looks", []record.Observation{f.Tried(0), look(1, "zrank"), look(50, "zrank")}, "zrank lock", 2},
		{"asks for the TTL, too", []record.Observation{f.Tried(0), look(1, "pttl"), f.Tried(50), look(51, "pttl"), f.Acquire(99)},
			"set lock", 3},
		{"never looks", []record.Observation{f.Read(0)}, "", 0},
	} {
		tries, shape := triesOf(f.Bench, one.commands)
		assert.Len(t, tries, one.tries, one.what)
		assert.Equal(t, forge.Shape(one.shape), shape, one.what)
	}

	bert := f.Order("bert", shop.AtB, history.Unknown, 0, 0, look(0, "get"), look(50, "get"), look(100, "get"))
	f.Pair.Ends[shop.AtB].Wires = []*wire.Wire{{}}
	f.Pair.Looker.Store(&wire.Looker{})
	watchWaiter(f.Bench, bert, f.Record[bert])
	assert.Equal(t, "poll every 50ms", f.Passport.Waiting)
}

// While another order holds the lock, the looks of one that waits are its tries.
func TestMarkOfAWaiterThatLooks(t *testing.T) {
	f := forge.Begin()
	f.Passport.Tries = forge.Shapes("get lock")
	p, s := newPlayedLine(f.Bench), rig.Scene{}
	line, err := schedule.ParseLine("a>acquire")
	require.NoError(t, err)
	catches := func(c record.Observation) bool {
		return p.trapAt(line[0], s).Is(&wire.Command{Seen: c.Seen})
	}
	assert.True(t, catches(f.Acquire(0)))
	look := f.Command(0, history.EffectTried, "get", forge.LockKey)
	assert.False(t, catches(look), "nothing keeps it from its acquire")
	s.Held = []*rig.Held{{Trap: &rig.CommandTrap{}, Reply: true, Since: time.Now(),
		Order: f.Pair.Shop.NewOrder("bert", shop.AtB, history.Buy).InFlight}}
	assert.True(t, catches(look))
}
