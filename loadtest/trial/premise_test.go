package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A cell whose fault did not matter to anybody has asked nothing. The lease is 2 s, and Anna's fault lasts from 100 ms
// to 2.5 s.
func TestWhatHasToHappenBesidesAFault(t *testing.T) {
	late := func(c observation) observation {
		c.Decision = schedule.ComesLate
		return c
	}
	held := func(f *forgery, c observation, until int) observation {
		c.Sent = f.after(until)
		return c
	}
	none := func(f *forgery) []observation { return nil }
	sale := func(f *forgery) []observation {
		return []observation{f.acquire(10), f.read(20), f.write(2500), f.release(2510)}
	}
	for _, one := range []struct {
		what        string
		asks        premise
		anna, bert  func(f *forgery) []observation
		asked, free bool // free: there is no lock
	}{
		{"Bert takes the lock after her lease", overdue, sale, func(f *forgery) []observation {
			return []observation{f.tried(50), f.acquire(2100), f.write(2120)}
		}, true, false},
		{"Bert finds it taken after her lease", overdue, sale, func(f *forgery) []observation {
			return []observation{f.tried(50), f.tried(2100)}
		}, true, false},
		{"Bert waits at the Redis meanwhile", overdue, sale, func(f *forgery) []observation {
			c := f.tried(50)
			c.Answered = f.after(2600)
			return []observation{c}
		}, true, false},
		{"Bert sleeps", overdue, sale, func(f *forgery) []observation {
			return []observation{f.tried(50), f.tried(2600), f.acquire(2700), f.write(2710)}
		}, false, false},
		{"Bert waits for a lock without an end", overdue, func(f *forgery) []observation {
			f.passport.TTL = 0
			return sale(f)
		}, func(f *forgery) []observation { return []observation{f.tried(50)} }, true, false},
		{"Bert has come too late for a write that nothing delayed", overdue, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.read(20), f.write(30), f.release(40)}
		}, func(f *forgery) []observation { return []observation{f.tried(50), f.acquire(2100)} }, false, false},
		{"Anna notices, and writes nothing", overdue, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.read(20)}
		}, func(f *forgery) []observation { return []observation{f.tried(50), f.acquire(2600)} }, true, false},
		{"Bert sells without a lock meanwhile", overdue, func(f *forgery) []observation {
			return []observation{f.read(20), f.write(2500)}
		}, func(f *forgery) []observation { return []observation{f.read(60), f.write(70)} }, true, true},
		{"Bert sells without a lock afterwards", overdue, func(f *forgery) []observation {
			return []observation{f.read(20), f.write(2500)}
		}, func(f *forgery) []observation { return []observation{f.read(2600), f.write(2700)} }, false, true},
		{"the write lands", landed, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.read(20), late(held(f, f.write(30), 2500))}
		}, func(f *forgery) []observation { return []observation{f.acquire(2100)} }, true, false},
		{"the write never lands", landed, func(f *forgery) []observation { return []observation{f.acquire(10), f.read(20)} },
			func(f *forgery) []observation { return []observation{f.acquire(2100)} }, false, false},
		{"Bert comes before the write", bereft, sale, func(f *forgery) []observation {
			return []observation{f.acquire(110)}
		}, true, false},
		{"Bert comes after the write", bereft, sale, func(f *forgery) []observation {
			return []observation{f.acquire(2600)}
		}, false, false},
		{"a renewal comes after the removal", renewed, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.renewal(700, history.EffectTried), f.write(2500)}
		}, func(f *forgery) []observation { return []observation{f.acquire(800)} }, true, false},
		{"no renewal comes after the removal", renewed, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.renewal(90, history.EffectRenewed), f.write(2500)}
		}, func(f *forgery) []observation { return []observation{f.acquire(800)} }, false, false},
		{"the release spans Bert's acquire", overlaps, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(30), held(f, f.release(40), 2300)}
		}, func(f *forgery) []observation { return []observation{f.acquire(2100)} }, true, false},
		{"the release comes before Bert's acquire", overlaps, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(30), held(f, f.release(40), 2000)}
		}, func(f *forgery) []observation { return []observation{f.acquire(2100)} }, false, false},
		{"the late acquire takes the lock", latecomer,
			func(f *forgery) []observation { return []observation{late(f.acquire(10))} },
			none, true, false},
		{"the late acquire finds it taken", latecomer,
			func(f *forgery) []observation { return []observation{late(f.tried(10))} },
			none, false, false},
		{"Bert's subscription comes after the release", unheard, sale, func(f *forgery) []observation {
			return []observation{held(f, f.unseen(60, "subscribe", "freed"), 2600)}
		}, true, false},
		{"Bert's subscription comes before the release", unheard, sale, func(f *forgery) []observation {
			return []observation{f.unseen(60, "subscribe", "freed")}
		}, false, false},
		{"Anna waits", waited, func(f *forgery) []observation { return []observation{f.tried(50)} }, none, true, false},
		{"Anna has not come yet", waited,
			func(f *forgery) []observation { return []observation{f.tried(2600)} }, none, false, false},
	} {
		f := forge()
		if one.free {
			f.passport.Locks = nil
		}
		f.order("anna", atA, history.Unknown, 0, 0, one.anna(f)...)
		f.order("bert", atB, history.Unknown, 40, 0, one.bert(f)...)
		f.faults = []history.Fault{{At: history.At(f.begun, f.after(100)), End: history.At(f.begun, f.after(2500))}}
		assert.Equal(t, one.asked, one.asks(f.bench, f.record) == "", one.what)
	}
}

// A crowd at two instances says something if both have sold.
func TestACrowdHasToBuyEverywhere(t *testing.T) {
	f := forge()
	f.order("a-1", atA, history.Sold, 0, 20)
	f.order("b-1", atB, history.Busy, 0, 20)
	assert.Empty(t, soldAt(1)(f.bench, nil))
	assert.Equal(t, "of the crowd nobody was sold to at b", soldAt(2)(f.bench, nil))
}
