package record_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/wire"
)

// Commands are in the order of their execution: one that blocked was executed when it was answered, and one without an
// answer when it was sent.
func TestTimeOfExecution(t *testing.T) {
	f := forge.Begin()
	first, second, lost := f.Del(10), f.Del(20), f.Del(30)
	first.Sent, first.Answered, lost.Answered = f.After(25), f.After(26), time.Time{}
	assert.Equal(t, observed{second, first, lost}, record.AsExecuted(observed{first, second, lost}))
}

// A script may be sent with any number as that of its keys.
func TestValuesOfScript(t *testing.T) {
	for keys, want := range map[string][]string{"1": {"v"}, "9223372036854775807": {}, "-1": {"k", "v"}, "x": {"k", "v"}} {
		c := &record.Observation{Seen: wire.Seen{Args: []string{"EVAL", "return 1", keys, "k", "v"}}}
		assert.Equal(t, want, record.Values(c), keys)
	}
}

// If the lock is a counter, a decrement by a waiter undoes its failed increment, whatever the result, and one by the
// holder releases the lock. Reads by the holder are no tries.
func TestStepsOfCounter(t *testing.T) {
	f := forge.Begin()
	step := func(ms int, effect history.Effect, verb string) record.Observation {
		c := f.Command(ms, effect, verb, forge.LockKey)
		c.Stepped = true
		return c
	}
	incr, decr := step(20, history.EffectTried, "incr"), step(30, history.EffectReleased, "decr")
	last := f.Command(40, history.EffectReleased, "decr", forge.LockKey) // to zero, as the holder has gone
	look := f.Command(50, history.EffectTried, "get", forge.LockKey)
	const nothing = history.EffectNothing
	for _, one := range []struct {
		what     string
		commands observed
		want     []history.Effect
	}{
		{"a waiter steps back", observed{incr, decr}, []history.Effect{history.EffectTried, nothing}},
		{"a waiter steps back to zero", observed{incr, last}, []history.Effect{history.EffectTried, nothing}},
		{"the holder steps back beside a waiter", observed{f.Acquire(10), decr},
			[]history.Effect{history.EffectAcquired, history.EffectReleased}},
		{"a waiter acquires the lock", observed{incr, decr, f.Acquire(35), last},
			[]history.Effect{history.EffectTried, nothing, history.EffectAcquired, history.EffectReleased}},
		{"a waiter reads", observed{look}, []history.Effect{history.EffectTried}},
		{"the holder reads", observed{f.Acquire(10), look}, []history.Effect{history.EffectAcquired, nothing}},
		{"an order reads after its write", observed{f.Write(10), look}, []history.Effect{history.EffectWrote, nothing}},
	} {
		assert.Equal(t, one.want, resolved(one.commands), one.what)
	}
}

// resolved returns the first effect of each command once they are resolved.
func resolved(commands observed) (effects []history.Effect) {
	copies := slices.Clone(commands)
	for i := range copies {
		copies[i].Effects = slices.Clone(copies[i].Effects)
	}
	record.Resolve(copies)
	for _, c := range copies {
		effects = append(effects, c.Effects[0].Effect)
	}
	return effects
}

// An order that enters a queue behind others acquires the lock by the first look that finds no earlier entry.
func TestPlacesInQueue(t *testing.T) {
	f := forge.Begin()
	const tried, nothing, acquired = history.EffectTried, history.EffectNothing, history.EffectAcquired
	on := func(ms int, effect history.Effect, verb string, before, after []string) record.Observation {
		c := f.Command(ms, effect, verb, forge.LockKey)
		c.Before, c.After = map[string][]string{forge.LockKey: before}, map[string][]string{forge.LockKey: after}
		return c
	}
	stock := func(c record.Observation, entries ...string) record.Observation {
		c.Before, c.After = map[string][]string{forge.LockKey: entries}, map[string][]string{forge.LockKey: entries}
		return c
	}
	look := func(ms int, entries ...string) record.Observation { return on(ms, tried, "zrank", entries, entries) }
	first := on(10, acquired, "zadd", nil, []string{"own"})
	entry := on(10, acquired|history.Beside|history.Endless, "zadd", []string{"anna"}, []string{"anna", "own"})
	behind, isFirst := look(20, "anna", "own"), look(30, "own", "later")
	leave := on(90, history.EffectReleased, "zrem", []string{"own"}, nil)
	release := on(50, history.EffectReleased, "zrem", []string{"anna", "own"}, []string{"own"})
	for _, one := range []struct {
		what     string
		commands observed
		want     []history.Effect
	}{
		{"the queue is empty", observed{first, look(20, "own"), leave},
			[]history.Effect{acquired, nothing, history.EffectReleased}},
		{"its turn comes", observed{entry, behind, isFirst, leave},
			[]history.Effect{tried, tried, acquired | history.Endless, history.EffectReleased}},
		{"it gives up", observed{entry, behind, on(90, history.EffectReleased, "zrem", []string{"anna", "own"},
			[]string{"anna"})}, []history.Effect{tried, tried, nothing}},
		{"it has only entered", observed{entry}, []history.Effect{tried}},
		{"it removes another's entry", observed{entry, release}, []history.Effect{tried, history.EffectReleased}},
		{"it sells behind others", observed{entry, behind, stock(f.Write(40), "anna", "own")},
			[]history.Effect{tried, acquired | history.Beside | history.Endless, history.EffectWrote}},
		{"it looks at the stock while it waits", observed{entry, stock(f.Read(15), "anna", "own"), isFirst},
			[]history.Effect{tried, history.EffectRead, acquired | history.Endless}},
		{"a holder adds a second part", observed{first, entry}, []history.Effect{acquired, entry.Effects[0].Effect}},
	} {
		assert.Equal(t, one.want, resolved(one.commands), one.what)
	}

	woken := observed{entry, stock(f.Read(40), "own"), stock(f.Write(41), "own")}
	woken[0].Effects = slices.Clone(entry.Effects)
	record.Resolve(woken)
	assert.Equal(t, f.After(40), record.AcquiredAt(woken), "a message woke it: it acquires by its read of the stock")
}
