package cause

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// A cell whose fault did not matter to anybody has asked nothing. The lease is 2 s, and Anna's fault lasts from 100 ms
// to 2.5 s.
func TestWhatHasToHappenBesidesAFault(t *testing.T) {
	held := func(f *forgery, c history.Command, until int) history.Command { return heldUntil(until, c) }
	none := func(f *forgery) []history.Command { return nil }
	sale := func(f *forgery) []history.Command {
		return []history.Command{acquire(10), read(20), writes(2500), release(2510)}
	}
	for _, one := range []struct {
		what        string
		asks        premise
		anna, bert  func(f *forgery) []history.Command
		asked, free bool // free: there is no lock
	}{
		{"Bert takes the lock after her lease", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), acquire(2100), writes(2120)}
		}, true, false},
		{"Bert finds it taken after her lease", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), tried(2100)}
		}, true, false},
		{"Bert waits at the Redis meanwhile", overdue, sale, func(f *forgery) []history.Command {
			c := tried(50)
			c.End = ms(2600)
			return []history.Command{c}
		}, true, false},
		{"Bert sleeps", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), tried(2600), acquire(2700), writes(2710)}
		}, false, false},
		{"Bert waits for a lock without an end", overdue, func(f *forgery) []history.Command {
			f.Facts.TTL = 0
			return sale(f)
		}, func(f *forgery) []history.Command { return []history.Command{tried(50)} }, true, false},
		{"Bert has come too late for a write that nothing delayed", overdue, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), writes(30), release(40)}
		}, func(f *forgery) []history.Command { return []history.Command{tried(50), acquire(2100)} }, false, false},
		{"Anna notices, and writes nothing", overdue, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20)}
		}, func(f *forgery) []history.Command { return []history.Command{tried(50), acquire(2600)} }, true, false},
		{"Bert sells without a lock meanwhile", overdue, func(f *forgery) []history.Command {
			return []history.Command{read(20), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{read(60), writes(70)} }, true, true},
		{"Bert sells without a lock afterwards", overdue, func(f *forgery) []history.Command {
			return []history.Command{read(20), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{read(2600), writes(2700)} }, false, true},
		{"the write lands", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), held(f, writes(30), 2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, true, false},
		{"the write never lands", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
		{"Bert comes before the write", bereft, sale, func(f *forgery) []history.Command {
			return []history.Command{acquire(110)}
		}, true, false},
		{"Bert comes after the write", bereft, sale, func(f *forgery) []history.Command {
			return []history.Command{acquire(2600)}
		}, false, false},
		{"a renewal comes after the removal", renewed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), renewal(700, history.EffectTried), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(800)} }, true, false},
		{"no renewal comes after the removal", renewed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), renewal(90, history.EffectRenewed), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(800)} }, false, false},
		{"the release spans Bert's acquire", overlaps, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), writes(30), held(f, release(40), 2300)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, true, false},
		{"the release comes before Bert's acquire", overlaps, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), writes(30), held(f, release(40), 2000)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
		{"the late acquire takes the lock", latecomer,
			func(f *forgery) []history.Command { return []history.Command{held(f, acquire(10), 2500)} },
			none, true, false},
		{"the late acquire finds it taken", latecomer,
			func(f *forgery) []history.Command { return []history.Command{held(f, tried(10), 2500)} },
			none, false, false},
		{"Bert's subscription comes after the release", unheard, sale, func(f *forgery) []history.Command {
			return []history.Command{held(f, command(60, history.EffectNothing, "subscribe"), 2600)}
		}, true, false},
		{"Bert's subscription comes before the release", unheard, sale, func(f *forgery) []history.Command {
			return []history.Command{command(60, history.EffectNothing, "subscribe")}
		}, false, false},
		{"Anna waits", waited, func(f *forgery) []history.Command { return []history.Command{tried(50)} }, none, true, false},
		{"Anna has not come yet", waited,
			func(f *forgery) []history.Command { return []history.Command{tried(2600)} }, none, false, false},
	} {
		f := forge()
		if one.free {
			f.Facts.Locks = nil
		}
		f.order("anna", atA, history.Unknown, 0, 0, one.anna(f)...)
		f.order("bert", atB, history.Unknown, 40, 0, one.bert(f)...)
		f.Faults = []history.Fault{{At: ms(100), End: ms(2500)}}
		assert.Equal(t, one.asked, one.asks(newRecord(f.Cell)) == "", one.what)
	}
}

// Of a stock that nobody sees written, Anna works when she has heard of her lock, and the fault delays that to its end.
func TestBertComesBeforeWorkThatNobodySees(t *testing.T) {
	for _, one := range []struct {
		what               string
		heard, until, bert int
		asked              bool
	}{
		{"while she is held at her work", 11, 2500, 2100, true},
		{"after that", 11, 2500, 2600, false},
		{"when her lock was removed, and she has not heard of it", 900, 110, 500, true},
		{"when she has heard of it", 900, 110, 1000, false},
	} {
		f := forge()
		f.Facts.Elsewhere = true
		f.order("anna", atA, history.Sold, 0, 3000,
			with(acquire(10), func(w *history.Carried) { w.Heard = ms(one.heard) }), release(2900))
		f.order("bert", atB, history.Sold, 40, 3000, acquire(one.bert), release(2950))
		f.Faults = []history.Fault{{At: ms(100), End: ms(one.until)}}
		assert.Equal(t, one.asked, bereft(newRecord(f.Cell)) == "", one.what)
	}
}

// A crowd says something if each instance to which it came has sold.
func TestACrowdHasToBuyEverywhere(t *testing.T) {
	f := forge()
	f.order("a-1", atA, history.Sold, 0, 20)
	f.Scenario = "one-instance"
	assert.Empty(t, WhyInconclusive(f.Cell))
	f.order("b-1", atB, history.Busy, 0, 20)
	f.Scenario = "two-instances"
	assert.Equal(t, "no order of the crowd was sold at b", WhyInconclusive(f.Cell))
}

// An order that waited for as long as one may take asks nothing, but one whose customer hung up does.
func TestAnOrderThatIsGivenUpAsksNothing(t *testing.T) {
	f := forge()
	f.Scenario = "reply-lost 2"
	hungUp(20000, f.order("anna", atA, history.Unknown, 0, 0))
	assert.Empty(t, WhyInconclusive(f.Cell))
	f.Ops[0].GaveUp = history.TimedOut
	assert.Equal(t, "Anna still waited after 20s", WhyInconclusive(f.Cell))
}
