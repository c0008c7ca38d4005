package cause

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// orders returns some commands.
func orders(all ...history.Command) []history.Command { return all }

// blocks makes a command block at the server.
func blocks(n int, c history.Command) history.Command {
	c.End = ms(n)
	return answeredAt(n, c)
}

// answeredAt delays the reply to a command, which was carried out in time.
func answeredAt(n int, c history.Command) history.Command {
	return with(c, func(w *history.Carried) { w.Heard = ms(n) })
}

// An ok means something only if the fault met what it was for. Anna's lease is 2 s from 10 ms on, and her fault lasts
// from 100 ms to 2.5 s.
func TestWhatAnOkNeeds(t *testing.T) {
	held, stop := history.Fault{Kind: history.FaultHeld}, history.Fault{Kind: history.FaultStop}
	late := history.Fault{Kind: history.FaultLate, Command: history.CommandWrite}
	release1 := history.Fault{Kind: history.FaultHeld, Command: "release"}
	subscribe := history.Fault{Kind: history.FaultHeld, Command: "subscribe"}
	request := history.Fault{Kind: history.FaultHeld, Command: "request"}
	kill := history.Fault{Kind: history.FaultKill, End: ms(100)}
	removed := history.Fault{End: ms(100)}
	gone := noted(100, history.LockRemoved)
	lostSale := orders(acquire(10), read(20), gone, writes(2500))
	sale := orders(acquire(10), read(20), writes(2500), release(2510))
	unlocked := func(f *forgery) { f.Facts.Locks = nil }
	kept := func(f *forgery) {
		f.order("us", Us, history.NotSold, 0, 2500, acquire(20), release(2450))
	}
	elsewhere := func(f *forgery) { f.Facts.Elsewhere = true }
	renewing := func(f *forgery) { f.Facts.Every = 600 * time.Millisecond }
	const expiry = "Bert did not try the lock between the expiry of Anna's lease and the write"
	const write = "Bert did not try the lock before Anna's write"
	const arrives = "Anna's release did not arrive after another order had taken the lock"
	const arrival = "Anna's write never arrived"
	const taken = "the late acquire found the lock taken, or never arrived"
	const untried = "Anna had not tried the lock yet"
	for _, one := range []struct {
		what       string
		fault      history.Fault
		anna, bert []history.Command
		want       string
		with       func(*forgery)
	}{
		{"Bert takes the lock after Anna's lease", held, sale, orders(tried(50), acquire(2100), writes(2120)), "", nil},
		{"Bert finds the lock taken after Anna's lease", held, sale, orders(tried(50), tried(2100)), "", nil},
		{"Bert blocks at the Redis meanwhile", stop, sale, orders(blocks(2600, tried(50))), "", nil},
		{"Bert sleeps", stop, sale, orders(tried(50), tried(2600), acquire(2700), writes(2710)), expiry, nil},
		{"so do all waiters", stop, sale, orders(tried(50)), expiry + ": " + Asleep,
			func(f *forgery) { f.Facts.Messages = true }},
		{"Bert waits for a lock without a TTL", stop, sale, orders(tried(50)), "", func(f *forgery) { f.Facts.TTL = 0 }},
		{"a lease in the value expires", stop, sale, orders(tried(50)), expiry,
			func(f *forgery) { f.Facts.TTL, f.Facts.InValue = 0, 2*time.Second }},
		{"Bert arrives after a write that was not delayed", stop, orders(acquire(10), read(20), writes(130), release(140)),
			orders(tried(150), acquire(2100)), expiry, nil},
		{"Anna notices the loss, and writes nothing", stop, orders(acquire(10), read(20)),
			orders(tried(50), acquire(2600)), "", nil},
		{"Bert sells without a lock meanwhile", stop, orders(read(20), writes(2500)), orders(read(60), writes(70)), "",
			unlocked},
		{"Bert sells without a lock afterwards", stop, orders(read(20), writes(2500)), orders(read(2600), writes(2700)),
			write, unlocked},
		{"Bert takes the lock before Anna's lease is over", stop, sale, orders(acquire(500)), "", nil},
		{"Bert sends other commands after Anna's lease", stop, sale, orders(tried(50), looks(2100)), expiry, nil},
		{"Bert asks by a command with an unknown effect", stop, sale,
			orders(usually(command(2100, history.EffectNothing, "set"), history.EffectAcquired)), "", nil},
		{"Bert asks by a command that usually does not acquire", stop, sale,
			orders(command(2100, history.EffectTried, "exists")), "", nil},
		{"Anna's process is cut off", history.Fault{Kind: history.FaultCut}, sale, orders(tried(50)), expiry, nil},
		{"her renewals are lost", history.Fault{Kind: history.FaultLost, Command: history.CommandRenewal}, sale,
			orders(tried(50)), expiry, nil},
		{"one of her commands is lost", history.Fault{Kind: history.FaultLost, Command: "command 1"}, sale,
			orders(tried(50)), "", nil},
		{"she works slowly", history.Fault{}, sale, orders(tried(50)), expiry, nil},
		{"an error is injected", history.Fault{End: ms(100)}, sale, orders(tried(50)), "", nil},
		{"the reply to her write is held", held, orders(acquire(10), answeredAt(2500, writes(30)), release(2510)),
			orders(tried(50)), expiry, nil},
		{"and Bert comes meanwhile", held, orders(acquire(10), answeredAt(2500, writes(30)), release(2510)),
			orders(acquire(2100)), "", nil},

		{"the write arrives", late, orders(acquire(10), read(20), heldUntil(2500, writes(30))), orders(acquire(2100)), "",
			nil},
		{"the write never arrives", late, orders(acquire(10), read(20)), orders(acquire(2100)), arrival, nil},
		{"the write that arrives is refused", late, orders(acquire(10), heldUntil(2500, usually(
			command(30, history.EffectNothing, "eval"), history.EffectWrote))), orders(acquire(2100)), "", nil},
		{"the write that arrives is another command than usual", late,
			orders(acquire(10), heldUntil(2500, command(30, history.EffectWrote, "set"))), orders(acquire(2100)), "", nil},
		{"the write arrives before the fault is over", late, orders(acquire(10), read(20), heldUntil(2400, writes(30))),
			orders(acquire(2100)), arrival, nil},
		{"the write came after the fault had begun", late, orders(acquire(10), read(20), heldUntil(2500, writes(150))),
			orders(acquire(2100)), arrival, nil},
		{"only the release arrives late", late, orders(acquire(10), read(20), heldUntil(2500, release(40))),
			orders(acquire(2100)), arrival, nil},
		{"it was to arrive late", history.Fault{Kind: history.FaultLate, Command: "release"},
			orders(acquire(10), writes(20), heldUntil(2500, release(40))), orders(acquire(2100)), "", nil},
		{"Bert comes after the late write", late, orders(acquire(10), read(20), heldUntil(2500, writes(30))),
			orders(acquire(2600)), expiry, nil},
		{"the late acquire takes the lock", late, orders(heldUntil(2500, acquire(10))), nil, "", nil},
		{"the late acquire finds it taken", late, orders(heldUntil(2500, tried(10))), nil, taken, nil},
		{"an acquire before the fault took the lock", late, orders(acquire(150)), nil, taken, nil},

		{"Bert takes the removed lock", removed, lostSale, orders(acquire(110)), "", nil},
		{"Bert comes after the write", removed, lostSale,
			orders(acquire(2600)), write, nil},
		{"Bert tries it only before the removal", removed, lostSale, orders(tried(50)), write, nil},
		{"Bert orders after the removal, and comes too late", removed, lostSale, orders(acquire(2600)), write,
			func(f *forgery) { f.Ops[1].Sent = ms(200) }},
		{"Bert orders after Anna is done", removed, lostSale, orders(acquire(2650)), "",
			func(f *forgery) { f.Ops[1].Sent = ms(2610) }},
		{"Bert comes between two writes", removed, orders(acquire(10), read(20), writes(30), gone, writes(2500)),
			orders(acquire(110)), "", nil},
		{"a renewal comes after the removal", removed,
			orders(acquire(10), gone, renewal(700, history.EffectTried), writes(2500)), orders(acquire(800)), "",
			renewing},
		{"no renewal comes after the removal", removed,
			orders(acquire(10), renewal(90, history.EffectRenewed), gone, writes(2500)), orders(acquire(800)),
			"no renewal came after Anna's lock was removed", renewing},
		{"Anna writes before the next renewal is due", removed, orders(acquire(10), gone, writes(600)),
			orders(acquire(300)), "", renewing},
		{"Anna notices the removal, and sends no renewal", removed, orders(acquire(10), read(20), gone), orders(acquire(800)),
			"", renewing},
		{"the Redis restarts", history.Fault{Kind: history.FaultRestart, End: ms(100)},
			orders(acquire(10), noted(100, history.LocksLost), writes(2500)), orders(tried(50)), write, nil},
		{"Anna is held for less than a lease", history.Fault{Kind: history.FaultHeld, End: ms(1500)},
			orders(acquire(10), read(20), writes(1510), release(1520)), orders(tried(50)), "", nil},

		{"the release spans a try of Bert's", release1, orders(acquire(10), writes(30), heldUntil(2300, release(40))),
			orders(tried(2100)), arrives, nil},
		{"the release came after Bert's acquire", release1, orders(acquire(10), writes(30), heldUntil(2300, release(2200))),
			orders(acquire(2100)), arrives + ": the client gave up on it", nil},
		{"the release spans Bert's acquire", release1, orders(acquire(10), writes(30), heldUntil(2300, release(40))),
			orders(acquire(2100)), "", nil},
		{"the release comes before Bert's acquire", release1, orders(acquire(10), writes(30), heldUntil(2000, release(40))),
			orders(acquire(2100)), arrives, nil},
		{"its client gave up on the release", release1, orders(acquire(10), writes(30)), orders(acquire(2100)),
			arrives + ": the client gave up on it", nil},
		{"no other order came meanwhile", release1, orders(acquire(10), writes(30), heldUntil(2300, release(40))), nil, "",
			nil},
		{"the release that is held finds the lock lost", release1, orders(acquire(10), writes(30),
			heldUntil(2300, usually(command(40, history.EffectNothing, "eval"), history.EffectReleased))),
			orders(tried(2100)), arrives, nil},
		{"a script that writes and releases is held", held, orders(acquire(10), heldUntil(2300, usually(
			command(40, history.EffectWrote|history.EffectReleased, "eval"), history.EffectReleased))),
			orders(tried(2100)), "", nil},
		{"what follows the release is held, and Bert sleeps", held, orders(acquire(10), writes(30), release(40),
			heldUntil(2500, looks(60))), orders(tried(50)), "Bert did not try the lock while Anna was held after the release",
			nil},
		{"what follows the release is held, and Bert comes", held, orders(acquire(10), writes(30), release(40),
			heldUntil(2500, looks(60))), orders(acquire(200)), "", nil},

		{"what comes after an early release is written before Bert comes", held, orders(acquire(10), release(40),
			heldUntil(1500, writes(60))), orders(acquire(2000)),
			"Bert did not try the lock while Anna was held after the release", nil},
		{"the stock is elsewhere, and the release spans a try of Bert's", release1, orders(acquire(10),
			heldUntil(2300, release(40))), orders(tried(2100)), arrives, elsewhere},

		{"a request of a waiter is held", held, orders(looks(60)), orders(acquire(20), release(2450)), "",
			func(f *forgery) { f.Requests = []history.Request{{Order: "10000-anna", Came: ms(90), Heard: ms(2500)}} }},
		{"a request of another order was held", request, orders(looks(60)), orders(acquire(20), release(2450)),
			"Anna's request did not arrive after the release by Bert",
			func(f *forgery) { f.Requests = []history.Request{{Order: "10000-bert", Came: ms(90), Heard: ms(2500)}} }},
		{"another request was", request, orders(looks(60)), orders(acquire(20), release(2450)),
			"Anna's request did not arrive after the release by Bert", func(f *forgery) {
				f.Requests = []history.Request{{Order: "10000-anna", Came: ms(80), Heard: ms(90)},
					{Order: "10000-anna", Came: ms(2510), Heard: ms(2520)}}
			}},
		{"the subscription comes after the release", subscribe, orders(heldUntil(2600, looks(60))),
			orders(acquire(20), release(2505)), "", nil},
		{"the subscription comes before the release", subscribe, orders(heldUntil(2400, looks(60))),
			orders(acquire(20), release(2450)), "Anna's subscribe did not arrive after the release by Bert", nil},
		{"nobody releases the lock meanwhile", subscribe, orders(heldUntil(2400, looks(60))),
			orders(acquire(20), release(2550)), "", nil},

		{"a killed waiter has tried the lock", kill, orders(tried(50)), orders(acquire(20)), "", nil},
		{"it has only read the stock", kill, orders(read(50)), orders(acquire(20)), untried, nil},
		{"it has not tried the lock yet", kill, orders(tried(2600)), orders(acquire(20)), untried, nil},
		{"there is nothing to wait for", kill, orders(read(50)), orders(acquire(20), release(40)), "", nil},
		{"the trial keeps the lock", history.Fault{}, orders(read(50)), nil, untried, kept},
		{"Anna tries it while the trial keeps it", history.Fault{}, orders(tried(150)), nil, "", kept},

		{"Bert tries the lock of a killed order", kill, orders(acquire(10)), orders(tried(1900)), "", nil},
		{"Bert comes after its lease", kill, orders(acquire(10)), orders(acquire(2100)), history.TooLate, nil},
		{"it was renewed", kill, orders(acquire(10), renewal(90, history.EffectRenewed)), orders(tried(2050)), "", nil},
		{"it was renewed in vain", kill, orders(acquire(10), renewal(90, history.EffectTried)), orders(tried(2050)),
			history.TooLate, nil},
		{"it was released", kill, orders(acquire(10), release(30)), orders(acquire(2100)), "", nil},
		{"it has no TTL", kill, orders(acquire(10)), orders(acquire(2100)), "", func(f *forgery) { f.Facts.TTL = 0 }},
		{"the trial has ended it", kill, orders(acquire(10), noted(110, history.LeaseOver)),
			orders(acquire(2100)), "", nil},

		{"Bert's client gives up under the lock", history.Fault{Kind: history.FaultLost, Command: "acquire", End: ms(100)},
			orders(tried(90)), orders(acquire(20), lost(read(30))), "Bert did not sell: the client gave up while held " +
				"under its lock", nil},
		{"Bert is refused", history.Fault{Kind: history.FaultLost, Command: "acquire", End: ms(100)}, orders(tried(90)),
			orders(acquire(20), read(30), release(50)), "", nil},
	} {
		f := forge()
		f.order("anna", atA, history.Unknown, 0, 2600, one.anna...)
		if one.bert != nil {
			f.order("bert", atB, history.Busy, 40, 3000, one.bert...)
		}
		hit := one.fault
		hit.Order, hit.Instance, hit.At, hit.End = "10000-anna", atA, ms(100), cmp.Or(hit.End, ms(2500))
		if f.Faults = []history.Fault{hit}; one.with != nil {
			one.with(f)
		}
		f.TTL = f.Facts.TTL
		assert.Equal(t, one.want, inconclusive(f.Cell), one.what)
	}
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
		{1000, false, false, history.FaultCut, true},
	} {
		f := forge()
		f.Facts.Patience, f.Facts.Elsewhere = time.Duration(ms(one.patience)), one.elsewhere
		sale := []history.Command{acquire(10), read(20)}
		if one.wrote {
			sale = append(sale, writes(2500))
		}
		f.order("anna", atA, history.Unknown, 0, 2600, sale...)
		f.order("bert", atB, history.Unknown, 40, 0, tried(50), acquire(2100))
		f.Faults = []history.Fault{{Kind: one.kind, Order: "10000-anna", At: ms(100), End: ms(2450)}}
		assert.Equal(t, one.asked, inconclusive(f.Cell) == "", one)
	}
}

// If writes of the stock are not observed, Anna is at work until she releases her lock, or until the end of a fault
// after that.
func TestWorkThatIsNotObserved(t *testing.T) {
	for _, one := range []struct {
		what                       string
		heard, freed, until, taken int
		asked                      bool
	}{
		{"while she is held at work", 11, 2900, 2500, 2100, true},
		{"after the fault, before her release", 11, 2900, 2500, 2700, true},
		{"after her release", 11, 2900, 2500, 2920, false},
		{"until the end of a fault after her release", 11, 40, 800, 300, true},
		{"after it", 11, 40, 250, 300, false},
	} {
		f := forge()
		f.Facts.Elsewhere = true
		f.order("anna", atA, history.Sold, 0, 3000, answeredAt(one.heard, acquire(10)), release(one.freed))
		f.order("bert", atB, history.Sold, 40, 3000, acquire(one.taken), release(2950))
		f.Faults = []history.Fault{{Kind: history.FaultHeld, Order: "10000-anna", At: ms(100), End: ms(one.until)}}
		f.Requests = []history.Request{{Order: "10000-anna", Came: ms(90), Heard: ms(one.until)}}
		assert.Equal(t, one.asked, inconclusive(f.Cell) == "", "%s: %s", one.what, inconclusive(f.Cell))
	}
}

// Without a fault each instance has to sell, or the only unit has to be sold.
func TestEachInstanceSells(t *testing.T) {
	f := forge()
	f.order("a-1", atA, history.Sold, 0, 20)
	assert.Empty(t, inconclusive(f.Cell), "no order came to b")
	f.order("b-1", atB, history.Busy, 0, 20)
	f.order("fresh-b-1", atB, history.Sold, 100, 120)
	f.order("a-2", atA, history.Sold, 0, 20)
	f.order("a-3", atA, history.Busy, 0, 20)
	assert.Equal(t, "no order sold at b", inconclusive(f.Cell))
	f.Initial = 2
	assert.NotEmpty(t, inconclusive(f.Cell), "there was a unit for each instance")
	f.Initial = 1
	assert.Empty(t, inconclusive(f.Cell), "--units 1")
	f.Ops[0].Outcome, f.Ops[3].Outcome = history.Busy, history.Busy
	assert.NotEmpty(t, inconclusive(f.Cell))
	f.Initial, f.Faults = stock, []history.Fault{{Kind: history.FaultDied, Instance: atA}}
	assert.NotEmpty(t, inconclusive(f.Cell), "an exit of its own is no fault")
	f.Faults[0].Kind = history.FaultKill
	assert.Empty(t, inconclusive(f.Cell))
}

// A cell is inconclusive if fresh orders were turned away for another reason than the lock; or if one of its orders
// was, and the fault did not happen.
func TestTurnedAwayOrdersAreInconclusive(t *testing.T) {
	f := forge()
	f.Scenario, f.Facts.SoldOut = "crash 2", &history.Answer{Status: 409, Body: "nothing left"}
	f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
	fresh := f.order("fresh-b-1", atB, history.Busy, 100, 9000)
	f.killed(95)
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
	f.Faults = []history.Fault{{Kind: history.FaultLost, Order: "10000-anna", Command: "command 2"}}
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
	c.JobOfOther = "b sold for Anna" // whatever they show
	Explain(c, nil)
	assert.Nil(t, c.Defect)
	assert.Equal(t, "b sold for Anna", c.WhyNot())
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
	anna := f.order("anna", atA, history.Sold, 0, 2900, answeredAt(2600, acquire(10)), release(2800))
	f.order("bert", atB, history.Sold, 100, 2500, tried(110), acquire(2100), release(2400))
	f.Faults = []history.Fault{{Order: "10000-anna", Instance: atA, At: ms(50), End: ms(2600)}}
	const unaware = "Anna was held at the reply to the acquire, too early to know of the lock: to hold orders later " +
		"give the shop's database by --db"
	for _, kind := range []history.FaultKind{history.FaultStop, history.FaultCut, history.FaultRestart, ""} {
		f.Faults[0].Kind = kind
		assert.Equal(t, unaware, inconclusive(f.Cell), kind)
	}
	anna.Trace[0].Wire.Heard = ms(12)
	assert.NotEqual(t, unaware, inconclusive(f.Cell))
	anna.Trace[0].Wire.Heard, f.Facts.Elsewhere = ms(2600), false // her write shows when she works
	assert.NotEqual(t, unaware, inconclusive(f.Cell))
}
