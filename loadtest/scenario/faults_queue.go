package scenario

import (
	"cmp"
	"strconv"
	"time"

	"stockapi/loadtest/client"
)

// requeueTime is the work of each order, so that waiters that were woken in vain wait again by the next release.
const requeueTime = 40 * time.Millisecond

// injectHerd lets fifty orders find the lock taken, on b and a in turn, and waits until each of them has had it.
func injectHerd(f *play) {
	const waiters = 50
	first := f.holdFirst()
	var all []*inFlight
	for n := range waiters {
		all = append(all, f.order((n+1)%2, strconv.Itoa(n+1), client.Order{
			Fault: "hold@after:" + f.rung.Taken, Wait: 20 * time.Second, Work: requeueTime,
		}))
	}
	for _, o := range all {
		o.waitHeld()
	}
	for _, o := range all {
		o.endHold()
	}
	f.cell.Waiting = waiters
	first.finish()
	for _, o := range all {
		o.waitAnswered()
	}
}

// injectQueueOrder sends fifty orders, one after the other, to b and a in turn, while an order on a holds the lock.
// When the lock is released, the first in the queue cannot take it at once, as its process is stopped. At that moment
// one more order comes, to a.
func injectQueueOrder(f *play) {
	const waiters = 50
	first := f.holdFirst()
	var next *inFlight
	for n := range waiters {
		o := f.enqueue((n+1)%2, n+1)
		if n == 0 {
			next = o
		}
	}
	f.cell.InLine = true
	begun := time.Now()
	next.stop()
	first.finish()
	f.enqueue(a, waiters+1)
	next.resume()
	next.recordStop(begun, "stopped for %s while the lock became free", seconds(time.Since(begun)))
}

// holdFirst sends the first order after the warm-up, to a, and waits until it is held with the lock.
func (f *play) holdFirst() *inFlight {
	f.warmUp()
	first := f.order(a, "first", client.Order{Fault: "hold@before:" + f.rung.Write})
	first.waitHeld()
	return first
}

// enqueue sends the next order, and waits until it is known to come before any order that is sent after it. Where there
// is a queue, the order shows there, unless it gets the lock at once. Otherwise the order is known to be about to ask
// for the lock.
func (f *play) enqueue(at, n int) *inFlight {
	before := f.queued()
	order := client.Order{Wait: 20 * time.Second}
	if !f.rung.Queue {
		order.Fault = "hold@before:" + f.rung.Acquire
	}
	o := f.order(at, strconv.Itoa(n), order)
	if f.rung.Queue {
		o.waitQueued(before)
	} else {
		o.waitHeld()
		o.endHold()
	}
	return o
}

// injectWaiterDies lets a work while the second order, on b, waits for the lock, and the third, on a again, waits
// behind it. Then b is killed. A place that ends with b's session is gone when a's work begins.
func injectWaiterDies(f *play) {
	f.warmUp()
	first := f.order(a, "1", client.Order{
		Fault: "hold@" + f.rung.AfterRead(), Work: f.session, Wait: f.session, // it is held for a session
	})
	first.waitHeld()
	second := f.waitForLock(b, "2")
	third := f.waitForLock(a, "3")
	queued := f.queued()
	gone, begun := f.Targets.Processes[b].ExpectExit(), time.Now()
	f.Targets.Processes[b].Kill()
	second.waitDied(gone)
	second.recordFault(begun, "killed while it waited for the lock")
	second.waitPlaceGone(queued)
	first.endHold()
	for _, o := range []*inFlight{third, first} {
		o.waitAnswered()
	}
	third.recordFault(begun, "waiting behind order 2, which was killed")
	f.probes = []int{a}
}

// waitPlaceGone waits until one of that many waiters in the queue is gone, if a place there ends with its session.
func (o *inFlight) waitPlaceGone(queued int64) {
	if o.rung.OnZooKeeper() && o.rung.Queue {
		o.waitAtMost(o.session+barrierTimeout, func() bool { return o.queued() < queued })
	}
}

// waitForLock sends an order, and waits until the order has found the lock taken, and is in the queue if there is one.
func (f *play) waitForLock(at int, id string) *inFlight {
	before := f.queued()
	o := f.order(at, id, client.Order{
		Fault: "hold@after:" + cmp.Or(f.rung.Taken, f.rung.Acquire), Wait: 20 * time.Second,
	})
	o.waitHeld()
	o.endHold()
	if f.rung.Queue {
		o.waitQueued(before)
	}
	return o
}

// waitQueued waits until more than that many waiters queue, or the order is answered.
func (o *inFlight) waitQueued(before int64) {
	o.waitUntil(func() bool { return o.queued() > before || o.answered() })
}

// queued counts the waiters that queue at the lock server, if the rung has a queue.
func (f *play) queued() int64 {
	if !f.rung.Queue {
		return 0
	}
	n, err := f.Targets.Servers[lockServer].Queued(f.ctx)
	f.must(err)
	return n
}
