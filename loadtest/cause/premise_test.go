package cause

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// A cell is inconclusive if its fault affected no other order. The lease is 2 s, and Anna's fault lasts from 100 ms to
// 2.5 s.
func TestPremises(t *testing.T) {
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
		{"Bert takes the lock after Anna's lease", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), acquire(2100), writes(2120)}
		}, true, false},
		{"Bert finds the lock taken after Anna's lease", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), tried(2100)}
		}, true, false},
		{"Bert blocks at the Redis meanwhile", overdue, sale, func(f *forgery) []history.Command {
			c := tried(50)
			c.End = ms(2600)
			return []history.Command{c}
		}, true, false},
		{"Bert sleeps", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), tried(2600), acquire(2700), writes(2710)}
		}, false, false},
		{"Bert waits for a lock without a TTL", overdue, func(f *forgery) []history.Command {
			f.Facts.TTL = 0
			return sale(f)
		}, func(f *forgery) []history.Command { return []history.Command{tried(50)} }, true, false},
		{"Bert arrives after a write that was not delayed", overdue, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), writes(30), release(40)}
		}, func(f *forgery) []history.Command { return []history.Command{tried(50), acquire(2100)} }, false, false},
		{"Anna notices the loss, and writes nothing", overdue, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20)}
		}, func(f *forgery) []history.Command { return []history.Command{tried(50), acquire(2600)} }, true, false},
		{"Bert sells without a lock meanwhile", overdue, func(f *forgery) []history.Command {
			return []history.Command{read(20), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{read(60), writes(70)} }, true, true},
		{"Bert sells without a lock afterwards", overdue, func(f *forgery) []history.Command {
			return []history.Command{read(20), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{read(2600), writes(2700)} }, false, true},
		{"the write arrives", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), held(f, writes(30), 2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, true, false},
		{"the write never arrives", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
		{"the write that arrives is refused", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), held(f, usually(command(30, history.EffectNothing, "eval"),
				history.EffectWrote), 2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, true, false},
		{"the write that arrives is another command than usual", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), held(f, command(30, history.EffectWrote, "set"), 2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, true, false},
		{"the write arrives before the fault is over", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), held(f, writes(30), 2400)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
		{"the write came after the fault had begun", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), held(f, writes(150), 2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
		{"only the release arrives late", landed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), held(f, release(40), 2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
		{"Bert takes the lock before Anna's lease is over", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{acquire(500)}
		}, true, false},
		{"Bert sends other commands after Anna's lease", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{tried(50), looks(2100)}
		}, false, false},
		{"Bert asks by a command with an unknown effect", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{usually(command(2100, history.EffectNothing, "set"), history.EffectAcquired)}
		}, true, false},
		{"Bert asks by a command that usually does not acquire", overdue, sale, func(f *forgery) []history.Command {
			return []history.Command{command(2100, history.EffectTried, "exists")}
		}, true, false},
		{"Bert comes between two writes", bereft, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20), writes(30), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(110)} }, false, false},
		{"Bert acquires before the write", bereft, sale, func(f *forgery) []history.Command {
			return []history.Command{acquire(110)}
		}, true, false},
		{"Bert acquires after the write", bereft, sale, func(f *forgery) []history.Command {
			return []history.Command{acquire(2600)}
		}, false, false},
		{"a renewal comes after the removal", renewed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), renewal(700, history.EffectTried), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(800)} }, true, false},
		{"no renewal comes after the removal", renewed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), renewal(90, history.EffectRenewed), writes(2500)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(800)} }, false, false},
		{"Anna notices the removal, and sends no renewal", renewed, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), read(20)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(800)} }, true, false},
		{"the release spans a try of Bert's", overlaps, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), writes(30), held(f, release(40), 2300)}
		}, func(f *forgery) []history.Command { return []history.Command{tried(2100)} }, false, false},
		{"the release came after Bert's acquire", overlaps, func(f *forgery) []history.Command {
			return []history.Command{acquire(10), writes(30), held(f, release(2200), 2300)}
		}, func(f *forgery) []history.Command { return []history.Command{acquire(2100)} }, false, false},
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
		{"an acquire before the fault takes the lock", latecomer,
			func(f *forgery) []history.Command { return []history.Command{acquire(10)} }, none, false, false},
		{"Bert's subscription comes after the write", unheard, sale, func(f *forgery) []history.Command {
			return []history.Command{held(f, command(60, history.EffectNothing, "subscribe"), 2505)}
		}, false, false},
		{"Bert's subscription comes after the release", unheard, sale, func(f *forgery) []history.Command {
			return []history.Command{held(f, command(60, history.EffectNothing, "subscribe"), 2600)}
		}, true, false},
		{"Bert's subscription comes before the release", unheard, sale, func(f *forgery) []history.Command {
			return []history.Command{command(60, history.EffectNothing, "subscribe")}
		}, false, false},
		{"Anna has tried the lock", waited,
			func(f *forgery) []history.Command { return []history.Command{tried(50)} }, none, true, false},
		{"Anna has only read the stock", waited,
			func(f *forgery) []history.Command { return []history.Command{read(50)} }, none, false, false},
		{"Anna has not tried the lock yet", waited,
			func(f *forgery) []history.Command { return []history.Command{tried(2600)} }, none, false, false},
	} {
		f := forge()
		if one.free {
			f.Facts.Locks = nil
		}
		f.order("bert", atB, history.Unknown, 40, 0, one.bert(f)...)
		f.order("anna", atA, history.Unknown, 0, 0, one.anna(f)...)
		f.Faults = []history.Fault{{At: ms(100), End: ms(2500)}}
		assert.Equal(t, one.asked, one.asks(newRecord(f.Cell)) == "", one.what)
	}
}

// Each fault has its premise: none is met in a cell where Anna sold before her fault, and Bert came only afterwards.
func TestPremisesOfFaults(t *testing.T) {
	const afterwards = "Bert did not try the lock between the expiry of Anna's lease and her write"
	const atAll = "Bert did not try the lock before Anna's write"
	for _, one := range []struct{ faults, want string }{
		{"one-instance, two-instances", "no order of the crowd sold at b"},
		{"slow-work, pause, pause 2, renewals-lost, cut-off", afterwards},
		{"after-release, server-restart, key-removed 1", atAll},
		{"key-removed 2", "no renewal came after Anna's lock was removed"},
		{"late", "Anna's write never arrived"},
		{"late-acquire", "the late acquire found the lock taken, or never arrived"},
		{"delayed-release, check-delete-gap",
			"Anna's release did not arrive after Bert had taken the lock: her client gave up on it"},
		{"contended-acquire", "Bert did not sell: his client gave up while he was held"},
		{"crash 3, hang-up 1, busy", "Anna had not tried the lock yet"},
		{"waiter-unheard 2", "Bert's subscription did not come after Anna's release"},
		{"crash 1, crash 2, hang-up 2, reply-lost 1, request-lost 1, refused 1, waiter-unheard 1", ""},
	} {
		for fault := range strings.SplitSeq(one.faults, ", ") {
			f := forge()
			f.order("anna", atA, history.Sold, 0, 50, acquire(10), read(20), writes(30), release(40))
			f.order("bert", atB, history.Busy, 3000, 3100, tried(3010))
			f.Faults = []history.Fault{{At: ms(5), End: ms(9)}}
			assert.Equal(t, one.want, inconclusive(f.judge(fault)), fault)
			if f.Facts.Messages = true; one.want == afterwards {
				assert.Equal(t, afterwards+": "+Asleep, inconclusive(f.judge(fault)), fault)
			}
		}
	}
	f := forge() // without Anna, any try of Bert's counts; and only he has to sell
	f.order("bert", atB, history.Sold, 0, 90, tried(10))
	for _, fault := range []string{"slow-work", "after-release", "contended-acquire"} {
		assert.Empty(t, inconclusive(f.judge(fault)), fault)
	}
	f.order("clara", atA, history.Busy, 0, 90, tried(10))
	assert.Empty(t, inconclusive(f.judge("contended-acquire")))
}

// After a pause longer than the client waits for a reply, an order that wrote nothing proves nothing about its lease:
// its client may have given up. One that wrote does.
func TestPauseLongerThanClientPatience(t *testing.T) {
	for _, one := range []struct {
		patience  int // ms
		wrote     bool
		elsewhere bool
		kind      history.FaultKind
		asked     bool
	}{
		{0, false, false, history.FaultStop, true}, {5000, false, false, history.FaultStop, true},
		{2400, false, false, history.FaultStop, true}, {1000, false, false, history.FaultStop, false},
		{1000, true, false, history.FaultStop, true}, {1000, false, true, history.FaultStop, true},
		{1000, false, false, "", true},
	} {
		f := forge()
		f.Scenario, f.Facts.Patience, f.Facts.Elsewhere = "pause", time.Duration(ms(one.patience)), one.elsewhere
		sale := []history.Command{acquire(10), read(20)}
		if one.wrote {
			sale = append(sale, writes(2500))
		}
		f.order("anna", atA, history.Unknown, 0, 2600, sale...)
		f.order("bert", atB, history.Unknown, 40, 0, tried(50), acquire(2100))
		f.Faults = []history.Fault{{Kind: one.kind, At: ms(100), End: ms(2450)}}
		assert.Equal(t, one.asked, inconclusive(f.Cell) == "", one)
	}
}

// If writes of the stock are not observed, Anna is at work until she releases her lock.
func TestPremiseWithoutVisibleWrites(t *testing.T) {
	for _, one := range []struct {
		what               string
		heard, until, bert int
		asked              bool
	}{
		{"while she is held at work", 11, 2500, 2100, true},
		{"after her release", 11, 2500, 2920, false},
		{"when her lock was removed before its acquire was replied to", 900, 110, 500, true},
	} {
		f := forge()
		f.Facts.Elsewhere = true
		f.order("anna", atA, history.Sold, 0, 3000,
			with(acquire(10), func(w *history.Carried) { w.Heard = ms(one.heard) }), release(2900))
		f.order("bert", atB, history.Sold, 40, 3000, acquire(one.bert), release(2950))
		f.Faults = []history.Fault{{At: ms(100), End: ms(one.until)}}
		assert.Equal(t, one.asked, bereft(newRecord(f.Cell)) == "", one.what)
		assert.Equal(t, one.asked, landed(newRecord(f.Cell)) == "", one.what)
	}
	f := forge()
	f.Facts.Elsewhere = true
	f.order("anna", atA, history.Sold, 0, 900, acquire(10), release(40))
	f.order("bert", atB, history.Sold, 40, 900, acquire(300), release(350))
	assert.Empty(t, bereft(newRecord(f.Cell)), "without a fault, until she is answered")
	f.Ops[0].Done, f.Faults = ms(200), []history.Fault{{At: ms(50), End: ms(800)}}
	assert.Empty(t, bereft(newRecord(f.Cell)), "until the end of a fault after her release")
	f.Faults[0].End = ms(100)
	assert.NotEmpty(t, bereft(newRecord(f.Cell)))
}

// A crowd is conclusive if each of its instances has sold, or if the only unit was sold.
func TestCrowdSellsAtEachInstance(t *testing.T) {
	f := forge()
	f.order("a-1", atA, history.Sold, 0, 20)
	f.Scenario = "one-instance"
	assert.Empty(t, inconclusive(f.Cell))
	f.order("b-1", atB, history.Busy, 0, 20)
	f.order("fresh-b-1", atB, history.Sold, 100, 120)
	f.order("a-2", atA, history.Sold, 0, 20)
	f.order("a-3", atA, history.Busy, 0, 20)
	f.Scenario = "two-instances"
	assert.Equal(t, "no order of the crowd sold at b", inconclusive(f.Cell))
	f.Initial = 2
	assert.NotEmpty(t, inconclusive(f.Cell), "there was a unit for each instance")
	f.Initial = 1
	assert.Empty(t, inconclusive(f.Cell), "--units 1")
	f.Ops[0].Outcome, f.Ops[3].Outcome = history.Busy, history.Busy
	assert.NotEmpty(t, inconclusive(f.Cell))
}

// A cell is inconclusive if fresh orders were turned away for another reason than the lock; or if one of its orders
// was, and the fault did not happen.
func TestTurnedAwayOrdersAreInconclusive(t *testing.T) {
	f := forge()
	f.Scenario, f.Facts.SoldOut = "crash 2", &history.Answer{Status: 409, Body: "nothing left"}
	f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
	fresh := f.order("fresh-b-1", atB, history.Busy, 100, 9000)
	for _, one := range []struct {
		status int
		body   string
		want   string
	}{
		{429, "slow down", history.TooMany}, {409, "nothing left", history.FullAgain}, {409, "busy", ""},
	} {
		fresh.Status, fresh.Detail = one.status, one.body
		assert.Equal(t, one.want, inconclusive(f.judge("crash 2")))
		assert.Equal(t, one.want == "", f.Defect != nil, "%v", f.Defect)
	}
	fresh.Outcome, fresh.Done = history.Sold, ms(200)
	f.Aborted = "the order ended without sending the command at which the fault was due"
	assert.Equal(t, f.Aborted, inconclusive(f.judge("crash 2")))
	f.Ops[0].Outcome, f.Ops[0].Status, f.Ops[0].Trace = history.Busy, 429, nil
	assert.Equal(t, history.TooMany, inconclusive(f.judge("crash 2")))
	f.Aborted = ""
	assert.Empty(t, inconclusive(f.judge("crash 2")), "the fault happened")
}

// A cell with an order that timed out is inconclusive, one whose customer hung up is not.
func TestTimedOutOrderIsInconclusive(t *testing.T) {
	f := forge()
	f.Scenario = "reply-lost 2"
	hungUp(20000, f.order("anna", atA, history.Unknown, 0, 0))
	assert.Empty(t, inconclusive(f.Cell))
	f.Ops[0].GaveUp = history.TimedOut
	assert.Equal(t, "Anna was still waiting after 20s", inconclusive(f.Cell))
	f.Ops[0].Phase = history.Probe
	assert.Empty(t, inconclusive(f.Cell), "fresh orders have a verdict of their own")
}

// A cell whose fault did not happen is not tested, unless the commands of its orders show a defect.
func TestCellThatWasNotPlayedAccusesNobody(t *testing.T) {
	cell := func(defect *history.Defect, letters ...history.Verdict) *history.Cell {
		c := &history.Cell{Defect: defect, Facts: &history.Facts{Elsewhere: true}, Count: &history.Count{}}
		for _, v := range letters {
			c.Findings = append(c.Findings, history.Finding{Verdict: v, Result: history.Broken})
		}
		return c
	}
	unknown := &history.Defect{Cause: "unknown cause"}
	named := &history.Defect{Cause: "it writes after it has released the lock"}
	for _, one := range []struct {
		what     string
		c        *history.Cell
		happened bool
		accuses  bool
	}{
		{"nothing broke", cell(nil), false, false},
		{"an unknown cause", cell(unknown, history.Exclusion), false, false},
		{"an unknown cause under its fault", cell(unknown, history.Exclusion), true, true},
		{"a count", cell(named, history.Stock), false, false},
		{"a count under its fault", cell(named, history.Stock), true, true},
		{"a cause in the record", cell(named, history.Stock, history.OwnRelease), false, true},
		{"by design", cell(nil, history.Exclusion), false, true},
	} {
		one.c.Aborted = "Bert did not reach request 1"
		newRecord(one.c).conclude(one.c.Aborted, one.happened)
		assert.Equal(t, one.accuses, one.c.NotTested == nil, one.what)
		if !one.accuses {
			assert.Nil(t, one.c.Defect, one.what)
			assert.Equal(t, "Bert did not reach request 1", one.c.WhyNot(), one.what)
		}
	}
	c := cell(named, history.Stock) // its orders show the defect
	c.Ops = []history.Op{{Order: "anna", Trace: []history.Command{
		{Key: "lock", Effect: history.EffectReleased, Source: history.Looked, At: 10, End: 11, Reply: "1"}}}}
	newRecord(c).conclude("Bert did not reach request 1", false)
	assert.NotNil(t, c.Defect)
}

// Of a shop without a lock, whose stock is in a database, only the answers show that Bert came in time.
func TestBertWithoutALockBesideADatabase(t *testing.T) {
	f := forge()
	f.Facts.Locks, f.Facts.Elsewhere, f.Count, f.Left = nil, true, &history.Count{}, new(int64(stock-2))
	f.order("anna", atA, history.Sold, 0, 2520)
	bert := f.order("bert", atB, history.Sold, 100, 2400)
	f.Faults = []history.Fault{{Order: "10000-anna", Instance: atA, At: ms(50), End: ms(2500)}}
	c := f.judge("late")
	assert.Empty(t, inconclusive(c))
	bert.Done = ms(2600)
	assert.Equal(t, "Bert did not sell before Anna's order was over", inconclusive(c))
	bert.Done, bert.Outcome = ms(2400), history.Busy
	assert.Equal(t, "Bert did not sell before Anna's order was over", inconclusive(c))
}

// An order that waits for the reply to its acquire does not know that it holds the lock, and works only afterwards.
func TestAnnaDidNotKnowOfHerLock(t *testing.T) {
	f := forge()
	f.Facts.Elsewhere, f.Count, f.Left = true, &history.Count{}, new(int64(stock-2))
	taken := with(acquire(10), func(w *history.Carried) { w.Heard = ms(2600) })
	anna := f.order("anna", atA, history.Sold, 0, 2900, taken, release(2800))
	f.order("bert", atB, history.Sold, 100, 2500, tried(110), acquire(2100), release(2400))
	f.Faults = []history.Fault{{Order: "10000-anna", Instance: atA, At: ms(50), End: ms(2600)}}
	for _, fault := range []string{"pause", "key-removed 1", "renewals-lost", "server-restart", "cut-off"} {
		assert.Equal(t, unaware, inconclusive(f.judge(fault)), fault)
	}
	anna.Trace[0].Wire.Heard = ms(12)
	assert.NotEqual(t, unaware, inconclusive(f.judge("pause")))
	anna.Trace[0].Wire.Heard, f.Facts.Elsewhere = ms(2600), false // her write shows when she works
	assert.NotEqual(t, unaware, inconclusive(f.judge("pause")))
}
