package cause

import (
	"testing"

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
	belowRest := usually(command(45, history.EffectNothing, "decrby"), history.EffectReleased)
	f.order("anna", atA, history.Busy, 0, 90, acquire(10), read(20), release(40), belowRest)
	f.order("bert", atB, history.Sold, 100, 900, granted(110), read(120), writes(800), release(810))
	f.order("clara", atA, history.Sold, 200, 700, acquire(210), read(220), writes(230), release(240))
	d := f.judge("two-instances").Defect
	if assert.NotNil(t, d) {
		assert.Equal(t, releasedTwice.what, d.Cause)
	}
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
	assert.Equal(t, overtaken, f.judge("pause").Design)
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
