package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// granted is an acquire whose reply is that of one that succeeds, though the looks at the lock show no hold: it lasts
// for a moment, or the count is below its value at rest.
func granted(n int) history.Command {
	c := usually(command(n, history.EffectNothing, "eval"), history.EffectAcquired)
	return with(c, func(w *history.Carried) { w.Granted = true })
}

// An order whose acquire was granted believes that it holds the lock, whatever the looks show.
func TestGrantedAcquireIsNoSaleWithoutLock(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 90, granted(10), read(20), writes(30), release(40))
	assert.Nil(t, f.judge("crash 1").Defect)
}

// A gate for one order that is given back twice admits two.
func TestGateGivenBackTwice(t *testing.T) {
	f := forge()
	f.Facts.Token = false
	belowRest := func(n int) history.Command {
		return usually(command(n, history.EffectExcess, "decrby"), history.EffectReleased)
	}
	f.order("anna", atA, history.Busy, 0, 90, acquire(10), read(20), release(40), belowRest(45))
	f.order("bert", atB, history.Sold, 100, 900, granted(110), read(120), writes(800), belowRest(810))
	f.order("clara", atA, history.Sold, 200, 700, acquire(210), read(220), writes(230), release(240))
	d := f.judge("two-instances").Defect
	if assert.NotNil(t, d) {
		assert.Equal(t, releasedTwice.what, d.Cause)
	}
	f.Ops = f.Ops[:1]
	if d := f.judge("error-reply 3").Defect; assert.NotNil(t, d, "no other order has come yet") {
		assert.Equal(t, releasedTwice.what, d.Cause)
	}
	f.Ops[0].Trace = append(f.Ops[0].Trace[:2], belowRest(45)) // once, after its lock has expired
	assert.Nil(t, f.judge("late").Defect)
}

// A background thread, such as one that heals, removes the lock of a living holder.
func TestLockRemovedInTheBackground(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 1000, acquire(10), read(20), writes(900))
	f.order("bert", atB, history.Sold, 100, 700, tried(110), acquire(510), read(520), writes(530), release(600))
	f.Strays = []history.Command{with(del(500), func(w *history.Carried) { w.Background = true })}
	if d := f.judge("slow-work").Defect; assert.NotNil(t, d) {
		assert.Equal(t, removedByNone.what, d.Cause)
	}
	f.Faults = nil // a sweeper of the dead: the instance is stopped, and gives no sign of life
	f.also = []cause{removedByNone}
	assert.Equal(t, overtaken, f.judge("pause").Design)
}

// A removal that comes after the other order's acquire did not let that in.
func TestRemovalAfterAcquire(t *testing.T) {
	for removed, want := range map[int]string{150: removedByNone.what, 800: unknown.what} {
		f := forge()
		f.order("anna", atA, history.Sold, 0, 1000, acquire(10), read(20), leaves(300, 8), acquire(700))
		f.order("bert", atB, history.Sold, 100, 650, acquire(200), read(210), writes(220), release(600))
		f.Strays = []history.Command{with(del(removed), func(w *history.Carried) { w.Background = true })}
		if d := f.judge("slow-work").Defect; assert.NotNil(t, d) {
			assert.Equal(t, want, d.Cause)
		}
	}
}

// A renewal whose TTL is in the wrong unit removes the lock that it should renew. Its order works on.
func TestRenewalThatRemovesItsLock(t *testing.T) {
	f := forge()
	f.Facts.Elsewhere, f.Count, f.Left = true, &history.Count{}, new(int64(stock-1))
	f.order("anna", atA, history.Sold, 0, 600, acquire(10), usually(del(100), history.EffectRenewed), inVain(500))
	f.order("bert", atB, history.Sold, 50, 400, tried(60), acquire(200), release(300))
	if d := f.judge("two-instances").Defect; assert.NotNil(t, d) {
		assert.Equal(t, ttlRemoves.what, d.Cause)
	}
}

// The same if its write is observed: such an order has not released the lock.
func TestWriteAfterRenewalThatRemovesItsLock(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), usually(del(100), history.EffectRenewed),
		writes(500))
	f.order("bert", atB, history.Sold, 50, 400, tried(60), acquire(200), read(210), writes(220), release(300))
	if d := f.judge("two-instances").Defect; assert.NotNil(t, d) {
		assert.Equal(t, ttlRemoves.what, d.Cause)
	}
}

// A lease that is shorter than a plain sale expires before the write.
func TestLeaseShorterThanItsSale(t *testing.T) {
	f := forge()
	f.Facts.TTL, f.Facts.Takes = 100*time.Millisecond, 300*time.Millisecond
	f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
	f.order("bert", atB, history.Sold, 50, 350, tried(60), acquire(200), read(210), writes(220), release(250))
	if d := f.judge("two-instances").Defect; assert.NotNil(t, d) {
		assert.Equal(t, shortLease.what, d.Cause)
	}
}

// An order whose acquire has no reply sells under the lock of another order at its instance: they share a value.
func TestSaleUnderAnothersLock(t *testing.T) {
	f := forge()
	f.Facts.Name = true
	f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500), release(510))
	f.order("bert", atA, history.Sold, 50, 90, lost(tried(60)), read(70), writes(80))
	if d := f.judge("one-instance").Defect; assert.NotNil(t, d) {
		assert.Equal(t, oneForInstance.what, d.Cause)
	}
}

// A unit is sold twice although the lock excludes: its order knows the stock from before it held the lock, or from its
// memory. Without a fault no lease that is renewed expires.
func TestUnitSoldTwiceUnderALock(t *testing.T) {
	first := orders(acquire(10), read(20), writes(30), release(40))
	for want, anna := range map[string][]history.Command{
		readEarly.what:    orders(read(5), acquire(110), writes(120), release(130)),
		wroteUnread.what:  orders(acquire(110), writes(120), release(130)),
		renewalStops.what: orders(acquire(5), read(6), writes(2100)),
	} {
		f, bert := forge(), first
		if want == renewalStops.what {
			f.Facts.Every = f.Facts.TTL / 4
			bert = orders(acquire(2050), read(2060), writes(2070), release(2500))
		}
		f.order("anna", atA, history.Sold, 0, 3000, anna...)
		f.order("bert", atB, history.Sold, 0, 2600, bert...)
		if d := f.judge("two-instances").Defect; assert.NotNil(t, d, want) {
			assert.Equal(t, want, d.Cause)
		}
	}
}

// Of two violations one breaks by design: Anna's lease has expired. The other is a bug: Clara's has not.
func TestEachViolationHasAReason(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), leaves(2100, 8))
	f.order("bert", atB, history.Sold, 50, 2600, acquire(2050), read(2060), leaves(2070, 8), release(2200))
	f.order("clara", atB, history.Sold, 2250, 2900, acquire(2300), read(2310), leaves(2800, 6))
	f.order("dora", atA, history.Sold, 2350, 2700, acquire(2400), read(2410), leaves(2420, 6), release(2500))
	c := f.judge("pause")
	assert.Empty(t, c.Design)
	if assert.NotNil(t, c.Defect) {
		assert.Equal(t, unknown.what, c.Defect.Cause)
	}
}

// An order that is refused, or whose customer hangs up, keeps its lock until the TTL. The next order waits that long,
// which liveness allows.
func TestRefusedOrderThatKeepsItsLock(t *testing.T) {
	fresh := func(f *forgery) {
		f.order("fresh-b", atB, history.Sold, 100, 2200, tried(110), tried(1100), acquire(2050), read(2060), writes(2070),
			release(2080))
	}
	f := forge()
	f.order("anna", atA, history.Busy, 0, 90, acquire(10), read(20))
	fresh(f)
	assert.Equal(t, []string{"Anna was refused, and kept the lock"}, f.judge("error-reply 2").Remarks)
	f = forge()
	hungUp(90, f.order("anna", atA, history.Unknown, 0, 0, acquire(10), read(20)))
	fresh(f)
	assert.Equal(t, []string{"Anna was refused, and kept the lock"}, f.judge("hang-up 2").Remarks)
}

// An order acquires several keys at once, and keeps those that it got when it is refused. A TTL would heal that, but
// its lack is not the cause.
func TestRefusedOrderThatKeepsSomeKeys(t *testing.T) {
	f := forge()
	const cart = "lock:cart"
	f.Facts.TTL, f.Facts.Locks = 0, []string{lockKey, cart}
	on := func(key string, c history.Command) history.Command {
		c.Key = key
		return c
	}
	endless := func(n int) history.Command {
		return usually(command(n, history.EffectAcquired|history.Endless, "eval"), history.EffectAcquired)
	}
	f.order("bert", atB, history.Sold, 0, 900, endless(5), on(cart, endless(6)), read(20), writes(800), release(810),
		on(cart, release(811)))
	f.order("anna", atA, history.Busy, 780, 1900, tried(790), on(cart, endless(815)), tried(800))
	f.order("fresh-b-1", atB, history.Busy, 2000, 9000, endless(2010), on(cart, tried(2011)), on(cart, tried(8900)))
	if d := f.judge("busy").Defect; assert.NotNil(t, d) {
		assert.Equal(t, keptByRefused.what, d.Cause)
	}
}

// A waiter takes the holder for dead when its wait is over, and sets the lock over the holder's, which is renewed. Its
// earlier attempts found the lock taken, so the acquire does look.
func TestWaiterThatTakesTheLockAnyway(t *testing.T) {
	f := forge()
	f.Facts.Every = f.Facts.TTL / 4
	over := with(acquireBy(1600, "bert's"), func(w *history.Carried) { w.Was = "anna's" })
	f.order("anna", atA, history.Sold, 0, 2000, acquireBy(10, "anna's"), read(20), renewal(600, history.EffectRenewed),
		renewal(1200, history.EffectRenewed), writes(1900))
	f.order("bert", atB, history.Sold, 50, 1800, tried(60), tried(800), over, read(1610), writes(1620), release(1630))
	if d := f.judge("slow-work").Defect; assert.NotNil(t, d) {
		assert.Equal(t, replaced.what, d.Cause)
	}
}

// What only plain sales show is marked: no command of a crowd was observed.
func TestCauseKnownFromPlainSales(t *testing.T) {
	f := forge()
	f.Facts.ReadsEarly = true
	f.order("a-1", atA, history.Sold, 0, 60).Units = []int64{10}
	f.order("b-1", atB, history.Sold, 0, 60).Units = []int64{10}
	if d := f.judge("two-instances").Defect; assert.NotNil(t, d) {
		assert.Equal(t, readEarly.what, d.Cause)
		assert.Contains(t, d.Shown, "; the cause is known from plain sales")
	}
}

// An order that was stopped, cut off or held did not wait meanwhile, nor one that may have waited for a reply that was
// lost.
func TestStoppedOrderDoesNotSleep(t *testing.T) {
	for _, one := range []struct {
		kind      history.FaultKind
		of        string
		at, until int
		sleeps    bool
	}{
		{history.FaultStop, atA, 25, 4060, false}, {history.FaultCut, atA, 25, 4060, false},
		{history.FaultStop, atB, 25, 4060, true}, {history.FaultKill, atB, 25, 4060, true},
		{history.FaultStop, atA, 25, 2060, true}, {history.FaultStop, atA, 2095, 4060, false},
		{history.FaultHeld, "10000-anna", 25, 4060, false}, {history.FaultHeld, "10000-bert", 25, 4060, true},
		{history.FaultLost, "10000-anna", 25, 26, false}, {history.FaultLate, "10000-anna", 25, 26, false},
		{history.FaultLost, "10000-anna", 15, 16, true}, {history.FaultLost, "10000-bert", 25, 26, true},
	} {
		f := forge()
		f.order("anna", atA, history.Busy, 0, 4100, tried(10), tried(20))
		f.order("bert", atB, history.Sold, 0, 2060, acquire(5), read(2030), writes(2040), release(2050))
		f.Faults = []history.Fault{{Kind: one.kind, Instance: one.of, Order: one.of, At: ms(one.at), End: ms(one.until)}}
		d := f.judge("").Defect
		assert.Equal(t, one.sleeps, d != nil && d.Cause == nobodyWakes.what, "%v: %v", one, d)
	}
}

// An order that found at its release that its lock was lost does not wait for it.
func TestOrderThatLostItsLockDoesNotWait(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Busy, 0, 5000, acquire(10), inVain(2100))
	f.order("bert", atB, history.Sold, 0, 2600, acquire(2120), read(2130), writes(2140), release(2530))
	assert.Nil(t, f.judge("crash 1").Defect)
}

// An order whose write failed is answered as a sale: more is sold than is gone.
func TestSaleThatFailed(t *testing.T) {
	for _, one := range []struct {
		what   string
		order  string // the one that the fault hits
		status int
		anna   []history.Command
		bert   history.Outcome
		told   bool
	}{
		{"its write was refused", "anna", 200, orders(acquire(10), read(20), release(40)), history.Sold, true},
		{"it wrote", "anna", 200, orders(acquire(10), read(20), leaves(30, 9), release(40)), history.Sold, false},
		{"it was accepted for later", "anna", 202, orders(acquire(10), read(20), release(40)), history.Sold, false},
		{"no fault hit it", "bert", 200, orders(acquire(10), read(20), release(40)), history.Sold, false},
		{"it goes on after its answer", "anna", 200, orders(acquire(10), read(20), release(60)), history.Sold, false},
		{"it got no lock", "anna", 200, orders(tried(10)), history.Sold, false},
		{"as much is gone as was sold", "anna", 200, orders(acquire(10), read(20), release(40)), history.Busy, false},
	} {
		f := forge()
		f.order("anna", atA, history.Sold, 0, 50, one.anna...).Status = one.status
		f.order("bert", atB, one.bert, 100, 200, acquire(110), read(120), leaves(130, 9-len(one.anna)/4), release(140))
		f.Faults = []history.Fault{{Order: "10000-" + one.order, Text: "command 3 answered OOM", At: ms(25), End: ms(25)}}
		d := f.judge("error-reply 3").Defect
		assert.Equal(t, one.told, d != nil && d.Cause == soldInVain.what, "%s: %v", one.what, d)
	}
}
