package trial

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// An order that enters a queue behind others acquires the lock by the first look that finds no earlier entry.
func TestPlacesInQueue(t *testing.T) {
	f := Begin()
	const tried, nothing, acquired = history.EffectTried, history.EffectNothing, history.EffectAcquired
	on := func(ms int, effect history.Effect, verb string, before, after []string) Observation {
		c := f.Command(ms, effect, verb, LockKey)
		c.Before, c.After = map[string][]string{LockKey: before}, map[string][]string{LockKey: after}
		return c
	}
	stock := func(c Observation, entries ...string) Observation {
		c.Before, c.After = map[string][]string{LockKey: entries}, map[string][]string{LockKey: entries}
		return c
	}
	look := func(ms int, entries ...string) Observation { return on(ms, tried, "zrank", entries, entries) }
	first := on(10, acquired, "zadd", nil, []string{"own"})
	entry := on(10, acquired|history.Beside|history.Endless, "zadd", []string{"anna"}, []string{"anna", "own"})
	behind, isFirst := look(20, "anna", "own"), look(30, "own", "later")
	leave := on(90, history.EffectReleased, "zrem", []string{"own"}, nil)
	release := on(50, history.EffectReleased, "zrem", []string{"anna", "own"}, []string{"own"})
	for _, one := range []struct {
		what     string
		commands []Observation
		want     []history.Effect
	}{
		{"the queue is empty", []Observation{first, look(20, "own"), leave},
			[]history.Effect{acquired, nothing, history.EffectReleased}},
		{"its turn comes", []Observation{entry, behind, isFirst, leave},
			[]history.Effect{tried, tried, acquired | history.Endless, history.EffectReleased}},
		{"it gives up", []Observation{entry, behind, on(90, history.EffectReleased, "zrem", []string{"anna", "own"},
			[]string{"anna"})}, []history.Effect{tried, tried, nothing}},
		{"it has only entered", []Observation{entry}, []history.Effect{tried}},
		{"it removes another's entry", []Observation{entry, release}, []history.Effect{tried, history.EffectReleased}},
		{"it sells behind others", []Observation{entry, behind, stock(f.Write(40), "anna", "own")},
			[]history.Effect{tried, acquired | history.Beside | history.Endless, history.EffectWrote}},
		{"it looks at the stock while it waits", []Observation{entry, stock(f.Read(15), "anna", "own"), isFirst},
			[]history.Effect{tried, history.EffectRead, acquired | history.Endless}},
		{"a holder adds a second part", []Observation{first, entry}, []history.Effect{acquired, entry.Effects[0].Effect}},
	} {
		assert.Equal(t, one.want, resolved(one.commands), one.what)
	}

	woken := []Observation{entry, stock(f.Read(40), "own"), stock(f.Write(41), "own")}
	woken[0].Effects = slices.Clone(entry.Effects)
	resolve(woken)
	assert.Equal(t, f.After(40), AcquiredAt(woken), "a message woke it: it acquires by its read of the stock")
}

// One that waits behind the holder, at the same instance, does not write the stock for the holder.
func TestEntryInQueueIsNoHolder(t *testing.T) {
	f := Begin()
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 90)
	bert := f.Order("bert", shop.AtA, history.Sold, 20, 200)
	record := map[*shop.Order][]Observation{}
	beside := f.Command(30, history.EffectAcquired|history.Beside, "zadd", LockKey, "1", "Bert's token")
	f.attribute(shop.AtA, []Observation{f.Acquire(10), beside, f.Write(40)}, record)
	assert.Len(t, record[anna], 2)
	assert.Len(t, record[bert], 1)
}

// A waiter may look by one command and acquire by another: the one that it sends most often shows how it waits.
func TestWaiterThatLooks(t *testing.T) {
	f := Begin()
	look := func(ms int, verb string) Observation { return f.Command(ms, history.EffectTried, verb, LockKey) }
	for _, one := range []struct {
		what     string
		commands []Observation
		shape    string
		tries    int
	}{
		{"polls by GET", []Observation{look(0, "get"), look(50, "get"), look(100, "get"), f.Acquire(150)}, "get lock", 3},
		{"watches, and looks", []Observation{look(0, "watch"), look(1, "get"), look(50, "watch"), look(51, "get")},
			"watch lock", 2},
		{"enters a queue, and looks", []Observation{f.Tried(0), look(1, "zrank"), look(50, "zrank")}, "zrank lock", 2},
		{"asks for the TTL, too", []Observation{f.Tried(0), look(1, "pttl"), f.Tried(50), look(51, "pttl"), f.Acquire(99)},
			"set lock", 3},
		{"never looks", []Observation{f.Read(0)}, "", 0},
	} {
		tries, shape := triesOf(f.Bench, one.commands)
		assert.Len(t, tries, one.tries, one.what)
		assert.Equal(t, Shape(one.shape), shape, one.what)
	}

	bert := f.Order("bert", shop.AtB, history.Unknown, 0, 0, look(0, "get"), look(50, "get"), look(100, "get"))
	f.Pair.Ends[shop.AtB].Wires = []*wire.Wire{{}}
	f.Pair.Looker.Store(&wire.Looker{})
	watchWaiter(f.Bench, bert, f.Record[bert])
	assert.Equal(t, "poll every 50ms", f.Passport.Waiting)
}

// While another order holds the lock, the looks of one that waits are its tries.
func TestMarkOfAWaiterThatLooks(t *testing.T) {
	f := Begin()
	f.Passport.Tries = Shapes("get lock")
	p, s := newPlayedLine(f.Bench), rig.Scene{}
	line, err := schedule.ParseLine("a>acquire")
	require.NoError(t, err)
	catches := func(c Observation) bool {
		return p.trapAt(line[0], s).Is(&wire.Command{Seen: c.Seen})
	}
	assert.True(t, catches(f.Acquire(0)))
	look := f.Command(0, history.EffectTried, "get", LockKey)
	assert.False(t, catches(look), "nothing keeps it from its acquire")
	s.Held = []*rig.Held{{Trap: &rig.CommandTrap{}, Reply: true, Since: time.Now(),
		Order: f.Pair.Shop.NewOrder("bert", shop.AtB, history.Buy).InFlight}}
	assert.True(t, catches(look))
}
