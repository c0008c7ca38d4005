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
	f := forge()
	const tried, nothing, acquired = history.EffectTried, history.EffectNothing, history.EffectAcquired
	on := func(ms int, effect history.Effect, verb string, before, after []string) observation {
		c := f.command(ms, effect, verb, lockKey)
		c.before, c.after = map[string][]string{lockKey: before}, map[string][]string{lockKey: after}
		return c
	}
	stock := func(c observation, entries ...string) observation {
		c.before, c.after = map[string][]string{lockKey: entries}, map[string][]string{lockKey: entries}
		return c
	}
	look := func(ms int, entries ...string) observation { return on(ms, tried, "zrank", entries, entries) }
	first := on(10, acquired, "zadd", nil, []string{"own"})
	entry := on(10, acquired|history.Beside|history.Endless, "zadd", []string{"anna"}, []string{"anna", "own"})
	behind, isFirst := look(20, "anna", "own"), look(30, "own", "later")
	leave := on(90, history.EffectReleased, "zrem", []string{"own"}, nil)
	release := on(50, history.EffectReleased, "zrem", []string{"anna", "own"}, []string{"own"})
	for _, one := range []struct {
		what     string
		commands []observation
		want     []history.Effect
	}{
		{"the queue is empty", []observation{first, look(20, "own"), leave},
			[]history.Effect{acquired, nothing, history.EffectReleased}},
		{"its turn comes", []observation{entry, behind, isFirst, leave},
			[]history.Effect{tried, tried, acquired | history.Endless, history.EffectReleased}},
		{"it gives up", []observation{entry, behind, on(90, history.EffectReleased, "zrem", []string{"anna", "own"},
			[]string{"anna"})}, []history.Effect{tried, tried, nothing}},
		{"it has only entered", []observation{entry}, []history.Effect{tried}},
		{"it removes another's entry", []observation{entry, release}, []history.Effect{tried, history.EffectReleased}},
		{"it sells behind others", []observation{entry, behind, stock(f.write(40), "anna", "own")},
			[]history.Effect{tried, acquired | history.Beside | history.Endless, history.EffectWrote}},
		{"it looks at the stock while it waits", []observation{entry, stock(f.read(15), "anna", "own"), isFirst},
			[]history.Effect{tried, history.EffectRead, acquired | history.Endless}},
		{"a holder adds a second part", []observation{first, entry}, []history.Effect{acquired, entry.effects[0].Effect}},
	} {
		assert.Equal(t, one.want, resolved(one.commands), one.what)
	}

	woken := []observation{entry, stock(f.read(40), "own"), stock(f.write(41), "own")}
	woken[0].effects = slices.Clone(entry.effects)
	resolve(woken)
	assert.Equal(t, f.after(40), acquiredAt(woken), "a message woke it: it acquires by its read of the stock")
}

// One that waits behind the holder, at the same instance, does not write the stock for the holder.
func TestEntryInQueueIsNoHolder(t *testing.T) {
	f := forge()
	anna := f.order("anna", shop.AtA, history.Sold, 0, 90)
	bert := f.order("bert", shop.AtA, history.Sold, 20, 200)
	record := map[*shop.Order][]observation{}
	beside := f.command(30, history.EffectAcquired|history.Beside, "zadd", lockKey, "1", "Bert's token")
	f.attribute(shop.AtA, []observation{f.acquire(10), beside, f.write(40)}, record)
	assert.Len(t, record[anna], 2)
	assert.Len(t, record[bert], 1)
}

// A waiter may look by one command and acquire by another: the one that it sends most often shows how it waits. While
// another order is held, its looks are its tries.
func TestWaiterThatLooks(t *testing.T) {
	f := forge()
	look := func(ms int, verb string) observation { return f.command(ms, history.EffectTried, verb, lockKey) }
	for _, one := range []struct {
		what     string
		commands []observation
		shape    string
		tries    int
	}{
		{"polls by GET", []observation{look(0, "get"), look(50, "get"), look(100, "get"), f.acquire(150)}, "get lock", 3},
		{"watches, and looks", []observation{look(0, "watch"), look(1, "get"), look(50, "watch"), look(51, "get")},
			"watch lock", 2},
		{"enters a queue, and looks", []observation{f.tried(0), look(1, "zrank"), look(50, "zrank")}, "zrank lock", 2},
		{"asks for the TTL, too", []observation{f.tried(0), look(1, "pttl"), f.tried(50), look(51, "pttl"), f.acquire(99)},
			"set lock", 3},
		{"never looks", []observation{f.read(0)}, "", 0},
	} {
		tries, shape := triesOf(f.bench, one.commands)
		assert.Len(t, tries, one.tries, one.what)
		assert.Equal(t, shapeOf(one.shape), shape, one.what)
	}

	bert := f.order("bert", shop.AtB, history.Unknown, 0, 0, look(0, "get"), look(50, "get"), look(100, "get"))
	f.pair.Ends[shop.AtB].Wires = []*wire.Wire{{}}
	f.pair.Looker.Store(&wire.Looker{})
	watchWaiter(f.bench, bert, f.record[bert])
	assert.Equal(t, "poll every 50ms", f.passport.Waiting)
	p, s := newPlayedLine(f.bench), rig.Scene{}
	line, err := schedule.ParseLine("a>acquire")
	require.NoError(t, err)
	catches := func(c observation) bool {
		return p.trapAt(line[0], s).Is(&wire.Command{Seen: c.Seen})
	}
	assert.True(t, catches(f.acquire(0)))
	assert.False(t, catches(look(0, "get")), "nothing keeps it from its acquire")
	s.Held = []*rig.Held{{Trap: &rig.CommandTrap{}, Reply: true, Since: time.Now(),
		Order: f.pair.Shop.NewOrder("bert", shop.AtB, history.Buy).InFlight}}
	assert.True(t, catches(look(0, "get")))
}
