package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A sight of a command on the lock, or on the stock.
func sight(at, ms int, effect history.Effect) *wire.Sight {
	start, key := time.Unix(1000, 0), forge.LockKey
	if c := (&history.Command{Source: history.Looked, Effect: effect}); c.ReadsStock() || c.WritesStock() {
		key = forge.StockKey
	}
	came := start.Add(time.Duration(ms) * time.Millisecond)
	return &wire.Sight{Command: &wire.Command{Seen: wire.Seen{Came: came, Sent: came,
		Command: schedule.Command{Client: &schedule.Client{Index: at}}}}, Stepped: []bool{false},
		Effects: []history.Command{{Key: key, Source: history.Looked, Effect: effect}}}
}

// An instance holds the lock since the last acquire of its orders that none of them has released.
func TestHolders(t *testing.T) {
	const tried, released, beside = history.EffectTried, history.EffectReleased, history.EffectAcquired | history.Beside
	const acquired, read, wrote = history.EffectAcquired, history.EffectRead, history.EffectWrote
	step := func(s *wire.Sight) *wire.Sight {
		s.Stepped[0] = true
		return s
	}
	names := func(s *wire.Sight, before, after []string) *wire.Sight {
		s.Before, s.After = map[string][]string{forge.LockKey: before}, map[string][]string{forge.LockKey: after}
		return s
	}
	see := func(at, ms int, effect history.Effect, entries ...string) *wire.Sight {
		return names(sight(at, ms, effect), entries, entries)
	}
	on := func(s *wire.Sight, key string) *wire.Sight {
		s.Effects[0].Key = key
		return s
	}
	type sights = []*wire.Sight
	anna := names(sight(atA, 10, acquired), nil, []string{"anna"})
	bert := names(sight(atB, 20, beside), []string{"anna"}, []string{"anna", "bert"})
	annaLeaves := names(sight(atA, 40, released), []string{"anna", "bert"}, []string{"bert"})
	for _, one := range []struct {
		what      string
		seen      sights
		atA, atB  int // 0: never
		releasesB int // the first release at b; 0: none
	}{
		{"nobody", sights{see(atA, 10, tried)}, 0, 0, 0},
		{"before the cell", sights{sight(atA, -10, acquired)}, 0, 0, 0},
		{"an order", sights{sight(atA, 10, acquired)}, 10, 0, 0},
		{"it has released it", sights{sight(atB, 10, acquired), sight(atB, 20, released)}, 0, 0, 20},
		{"the next has it", sights{sight(atB, 10, acquired), sight(atB, 20, released), sight(atB, 30, acquired)}, 0, 30, 20},
		{"one that has lost it, too", sights{sight(atA, 10, acquired), sight(atB, 20, acquired)}, 10, 20, 0},
		{"another order of its instance has it", sights{sight(atA, 10, acquired), sight(atA, 50, acquired)}, 50, 0, 0},
		{"one that another releases, too", sights{sight(atA, 10, acquired), sight(atB, 20, released)}, 10, 0, 20},
		{"it is renewed", sights{sight(atA, 10, acquired), sight(atA, 20, history.EffectRenewed)}, 10, 0, 0},
		{"it has several keys", sights{on(sight(atA, 10, acquired), "one"), on(sight(atA, 11, acquired), "two"),
			on(sight(atA, 12, released), "two")}, 10, 0, 0},

		{"an order undoes its failed step of a counter", sights{sight(atA, 10, acquired), step(sight(atB, 20, tried)),
			step(sight(atB, 21, released))}, 10, 0, 0},
		{"an order undoes its step after the holder has gone", sights{sight(atA, 10, acquired), step(sight(atB, 20, tried)),
			step(sight(atA, 30, released)), sight(atB, 31, released)}, 0, 0, 0},
		{"a reentrant order steps back", sights{sight(atB, 10, acquired), step(sight(atB, 20, tried)),
			step(sight(atB, 21, released))}, 0, 10, 0},
		{"a step was never undone, and the counter has expired", sights{step(sight(atB, 20, tried)),
			sight(atB, 90, acquired), sight(atB, 95, released)}, 0, 0, 95},

		{"an order enters a queue", sights{anna, bert}, 10, 0, 0},
		{"it looks behind others", sights{anna, bert, see(atB, 30, tried, "anna", "bert")}, 10, 0, 0},
		{"it reads the stock behind others", sights{anna, bert, see(atB, 30, read, "anna", "bert")}, 10, 0, 0},
		{"it writes the stock behind others", sights{anna, bert, see(atB, 30, tried, "anna", "bert"),
			see(atB, 35, wrote, "anna", "bert")}, 10, 30, 0},
		{"the stock refuses its write", sights{anna, bert, see(atB, 35, history.EffectRefused, "anna", "bert")}, 10, 0, 0},
		{"another order of its instance writes the stock", sights{names(sight(atB, 10, acquired), nil, []string{"anna"}),
			bert, see(atB, 35, wrote, "anna", "bert")}, 0, 10, 0},
		{"its turn comes", sights{anna, bert, annaLeaves, see(atB, 50, tried, "bert")}, 0, 50, 0},
		{"a message wakes it", sights{anna, bert, annaLeaves, see(atB, 60, read, "bert")}, 0, 60, 0},
		{"it leaves the queue", sights{anna, bert, names(sight(atB, 70, released), []string{"anna", "bert"},
			[]string{"anna"})}, 10, 0, 0},
		{"it removes another's entry", sights{anna, bert, names(sight(atB, 70, released), []string{"anna", "bert"},
			[]string{"bert"}), see(atB, 80, tried, "bert")}, 10, 80, 70},
		{"the queue was gone, and it is the first of a new one", sights{anna, bert,
			names(sight(atB, 90, acquired), nil, []string{"carl"}), see(atB, 95, tried, "carl")}, 10, 90, 0},
		{"it adds a part", sights{sight(atA, 10, acquired), sight(atA, 20, beside), sight(atA, 30, read)}, 10, 0, 0},
	} {
		h := &record.Holders{}
		h.Begin(time.Unix(1000, 0))
		for _, s := range one.seen {
			h.Saw(s)
		}
		want := func(ms int) history.Instant {
			if ms == 0 {
				return history.Never
			}
			return history.Instant(ms) * history.Instant(time.Millisecond)
		}
		assert.Equal(t, want(one.atA), h.Since(atA), one.what)
		assert.Equal(t, want(one.atB), h.Since(atB), one.what)
		assert.Equal(t, want(one.releasesB), record.FirstAfter(0, h.When(atB, (*history.Command).Releases)), one.what)
	}
}

// An entry in a queue and a failed step of a counter are tries.
func TestHoldersTry(t *testing.T) {
	h := &record.Holders{}
	h.Begin(time.Unix(1000, 0))
	step, entry := sight(atB, 20, history.EffectTried), sight(atB, 30, history.EffectAcquired|history.Beside)
	step.Stepped[0] = true
	h.Saw(step)
	h.Saw(entry)
	assert.Len(t, h.When(atB, (*history.Command).Acquires), 2)
	assert.Empty(t, h.When(atB, sale.Acquired))
}

// A wait for a command ends when its effect is seen, when it cannot come any more, or when its time is over.
func TestAwaitEffect(t *testing.T) {
	h := &record.Holders{}
	h.Begin(time.Unix(1000, 0))
	released := func() bool { return len(h.When(atA, (*history.Command).Releases)) > 0 }
	none := make(chan struct{})
	h.Await(0, none, released)
	assert.False(t, released())

	go func() {
		h.Saw(sight(atA, 10, history.EffectAcquired))
		h.Saw(sight(atA, 20, history.EffectReleased))
	}()
	h.Await(time.Minute, none, released)
	assert.True(t, released())

	h.Begin(time.Unix(1000, 0))
	close(none)
	h.Await(time.Minute, none, released)
	assert.False(t, released())
}

// What an instance did counts for an order that was sent to it before, and can have sent the command.
func TestWhatAnInstanceDidForAnOrder(t *testing.T) {
	f := forge.Begin()
	f.Holders().Begin(f.Cell.Start)
	held := f.Order("held", atA, history.Sold, 0, 90)
	held.Blocked = shop.Span{From: f.After(15), To: f.After(45)}
	beside := f.Order("beside", atA, history.Sold, 20, 200)
	never := f.Order("never", atA, history.Sold, 210, 220)
	other := f.Order("other", atB, history.Sold, 0, 200)
	late := f.Order("late", atB, history.Sold, 300, 310)
	late.Left = true
	for _, s := range []*wire.Sight{
		sight(atA, 10, history.EffectAcquired), sight(atA, 50, history.EffectWrote), sight(atA, 60, history.EffectReleased),
		sight(atA, 120, history.EffectAcquired), sight(atA, 130, history.EffectReleased),
		sight(atB, 320, history.EffectAcquired), sight(atB, 330, history.EffectWrote),
		sight(atB, 340, history.EffectReleased),
	} {
		f.Holders().Saw(s)
	}
	at := func(ms int) history.Instant { return f.Since(f.After(ms)) }
	for _, one := range []struct {
		of             *shop.Order
		took, released history.Instant
		wrote          bool
		until          int
	}{
		{held, at(10), at(60), true, 90},
		{beside, at(120), at(130), true, 200},
		{never, history.Never, history.Never, false, 220},
		{other, at(320), at(340), false, 200},
		{late, at(320), at(340), true, 340},
	} {
		assert.Equal(t, one.took, f.TookFor(one.of), one.of.Name)
		assert.Equal(t, one.released, f.ReleasedFor(one.of), one.of.Name)
		assert.Equal(t, one.wrote, f.HasWritten(one.of), one.of.Name)
		assert.Equal(t, f.After(one.until), f.WorkedUntil(one.of), one.of.Name)
	}
	held.Blocked.To = f.After(70)
	assert.False(t, f.HasWritten(held), "another order wrote while this one was blocked")
}

// An order waits for the lock if its instance was refused it last, since the order was sent, and does not hold it.
func TestOrderThatWaits(t *testing.T) {
	const tried, acquired = history.EffectTried, history.EffectAcquired
	for _, one := range []struct {
		what  string
		seen  []*wire.Sight
		waits bool
	}{
		{"nothing came", nil, false},
		{"refused", []*wire.Sight{sight(atA, 20, tried)}, true},
		{"refused before", []*wire.Sight{sight(atA, 5, tried)}, false},
		{"the other instance", []*wire.Sight{sight(atB, 20, tried)}, false},
		{"refused, then granted", []*wire.Sight{sight(atA, 20, tried), sight(atA, 30, acquired)}, false},
		{"it looks at its own lock", []*wire.Sight{sight(atA, 20, acquired), sight(atA, 30, tried)}, false},
	} {
		f := forge.Begin()
		f.Pair.Rig.Gate = wire.NewGate(nil)
		f.Holders().Begin(f.Cell.Start)
		o := f.Order("anna", atA, history.Unknown, 10, 500)
		for _, s := range one.seen {
			f.Holders().Saw(s)
		}
		assert.Equal(t, one.waits, f.WaitsForLock(o), one.what)
	}
}

// The server can expire a lock early if its lease is the TTL of its keys, and no order has prolonged it. A second
// command that sets the TTL prolongs nothing.
func TestLocksThatServerCanExpire(t *testing.T) {
	renewed := sight(atB, 20, history.EffectRenewed)
	for _, one := range []struct {
		what string
		can  bool
		of   func(*sale.Passport)
		seen []*wire.Sight
	}{
		{"a TTL", true, func(*sale.Passport) {}, nil},
		{"none", false, func(p *sale.Passport) { p.TTL = 0 }, nil},
		{"a deadline in its value", false, func(p *sale.Passport) { p.InValue = time.Second }, nil},
		{"renewed in a plain sale", false, func(p *sale.Passport) { p.Every = time.Second }, nil},
		{"prolonged in this cell", false, func(*sale.Passport) {}, []*wire.Sight{renewed}},
		{"a second command sets the TTL", true, func(p *sale.Passport) { p.TTLLater = true }, []*wire.Sight{renewed}},
	} {
		f := forge.Begin()
		one.of(f.Passport)
		f.Holders().Begin(f.Cell.Start)
		for _, s := range one.seen {
			f.Holders().Saw(s)
		}
		assert.Equal(t, one.can, f.CanExpire(), one.what)
	}
}
