package learn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
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
		{"polls by GET", []record.Observation{look(0, "get"), look(50, "get"), look(100, "get"), f.Acquire(150)},
			"get lock", 3},
		{"watches, and looks", []record.Observation{look(0, "watch"), look(1, "get"), look(50, "watch"), look(51, "get")},
			"watch lock", 2},
		{"enters a queue, and looks", []record.Observation{f.Tried(0), look(1, "zrank"), look(50, "zrank")}, "zrank lock", 2},
		{"asks for the TTL, too", []record.Observation{f.Tried(0), look(1, "pttl"), f.Tried(50), look(51, "pttl"),
			f.Acquire(99)}, "set lock", 3},
		{"never looks", []record.Observation{f.Read(0)}, "", 0},
	} {
		tries, shape := triesOf(f.Bench, one.commands)
		assert.Len(t, tries, one.tries, one.what)
		assert.Equal(t, forge.Shape(one.shape), shape, one.what)
	}

	bert := f.Order("bert", shop.AtB, history.Unknown, 0, 0, look(0, "get"), look(50, "get"), look(100, "get"))
	f.Pair.Rig.Ends[shop.AtB].Wires = []*wire.Wire{{}}
	f.Pair.Looker.Store(&wire.Looker{})
	watchWaiter(f.Bench, bert, f.Record[bert])
	assert.Equal(t, "poll every 50ms", f.Passport.Waiting)
}

// Waiters are woken if something happened between each try and the next.
func TestWakersOfWaiters(t *testing.T) {
	f := forge.Begin()
	at := func(ms ...int) (all []time.Time) {
		for _, one := range ms {
			all = append(all, f.After(one))
		}
		return all
	}
	assert.True(t, wokenBetween(at(0, 1000, 2000), at(990, 1990)))
	assert.False(t, wokenBetween(at(0, 50, 100, 150), at(120)), "they poll")
	assert.False(t, wokenBetween(at(0), at(10)))
}
