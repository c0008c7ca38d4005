package scenario

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"stockapi/loadtest/client"
)

// requeueTime is the work of each order, so that waiters that were woken in vain wait again by the next release.
const requeueTime = 40 * time.Millisecond

// injectHerd lets fifty orders find the lock taken, on b and a in turn, and waits until each of them has had it.
func injectHerd(ctx context.Context, f *faultCell) error {
	const waiters = 50
	first, err := f.holdFirst(ctx)
	if err != nil {
		return err
	}
	var all []*pending
	for n := range waiters {
		all = append(all, f.order(ctx, (n+1)%2, strconv.Itoa(n+1), client.Order{
			Fault: "hold@after:" + f.rung.Taken, Wait: 20 * time.Second, Work: requeueTime,
		}))
	}
	for _, o := range all {
		if err := o.waitHeld(ctx); err != nil {
			return err
		}
	}
	for _, o := range all {
		if err := o.endHold(ctx); err != nil {
			return err
		}
	}
	f.cell.Waiting = waiters
	if err := first.finish(ctx); err != nil {
		return err
	}
	for _, o := range all {
		if err := o.waitAnswered(ctx); err != nil {
			return err
		}
	}
	return nil
}

// injectQueueOrder sends fifty orders, one after the other, to b and a in turn, while an order on a holds the lock.
// When the lock is released, the first in the queue cannot take it at once, as its process is stopped. At that moment
// one more order comes, to a.
func injectQueueOrder(ctx context.Context, f *faultCell) error {
	const waiters = 50
	first, err := f.holdFirst(ctx)
	if err != nil {
		return err
	}
	var next *pending
	for n := range waiters {
		o, err := f.enqueue(ctx, (n+1)%2, n+1)
		if err != nil {
			return err
		}
		if n == 0 {
			next = o
		}
	}
	f.cell.InLine = true
	begun := time.Now()
	if err := next.stop(ctx); err != nil {
		return err
	}
	if err := first.finish(ctx); err != nil {
		return err
	}
	if _, err := f.enqueue(ctx, a, waiters+1); err != nil {
		return err
	}
	if err := next.resume(); err != nil {
		return err
	}
	next.recordStop(begun, "stopped for %s while the lock became free", seconds(time.Since(begun)))
	return nil
}

// holdFirst sends the first order after the warm-up, to a, and waits until it is held with the lock.
func (f *faultCell) holdFirst(ctx context.Context) (*pending, error) {
	if err := f.warmUp(ctx); err != nil {
		return nil, err
	}
	first := f.order(ctx, a, "first", client.Order{Fault: "hold@before:" + f.rung.Write})
	return first, first.waitHeld(ctx)
}

// enqueue sends the next order, and waits until it is known to come before any order that is sent after it. Where there
// is a queue, the order shows there, unless it gets the lock at once. Otherwise the order is known to be about to ask
// for the lock.
func (f *faultCell) enqueue(ctx context.Context, at, n int) (*pending, error) {
	before, err := f.queued(ctx)
	if err != nil {
		return nil, err
	}
	order := client.Order{Wait: 20 * time.Second}
	if !f.rung.Queue {
		order.Fault = "hold@before:" + f.rung.Acquire
	}
	o := f.order(ctx, at, strconv.Itoa(n), order)
	if f.rung.Queue {
		return o, o.waitQueued(ctx, before)
	}
	if err := o.waitHeld(ctx); err != nil {
		return nil, err
	}
	return o, o.endHold(ctx)
}

// injectWaiterDies lets a work while the second order, on b, waits for the lock, and the third, on a again, waits
// behind it. Then b is killed. A place that ends with b's session is gone when a's work begins.
func injectWaiterDies(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", client.Order{
		Fault: "hold@" + f.rung.AfterRead(), Work: f.session, Wait: f.session, // it is held for a session
	})
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	second, err := f.waitForLock(ctx, b, "2")
	if err != nil {
		return err
	}
	third, err := f.waitForLock(ctx, a, "3")
	if err != nil {
		return err
	}
	queued, err := f.queued(ctx)
	if err != nil {
		return err
	}
	gone, begun := f.Targets.Processes[b].ExpectExit(), time.Now()
	f.Targets.Processes[b].Kill()
	if err := second.waitDied(ctx, gone); err != nil {
		return err
	}
	second.recordFault(begun, "killed while it waited for the lock")
	if err := second.waitPlaceGone(ctx, queued); err != nil {
		return err
	}
	if err := first.endHold(ctx); err != nil {
		return err
	}
	for _, o := range []*pending{third, first} {
		if err := o.waitAnswered(ctx); err != nil {
			return err
		}
	}
	third.recordFault(begun, "waiting behind order 2, which was killed")
	f.probes = []int{a}
	return nil
}

// waitPlaceGone waits until one of that many waiters in the queue is gone, if a place there ends with its session.
func (o *pending) waitPlaceGone(ctx context.Context, queued int64) error {
	if !o.rung.OnZooKeeper() || !o.rung.Queue {
		return nil
	}
	return o.waitAtMost(ctx, o.session+barrierTimeout, func() (bool, error) {
		now, err := o.queued(ctx)
		return now < queued, err
	})
}

// waitForLock sends an order, and waits until the order has found the lock taken, and is in the queue if there is one.
func (f *faultCell) waitForLock(ctx context.Context, at int, id string) (*pending, error) {
	before, err := f.queued(ctx)
	if err != nil {
		return nil, err
	}
	o := f.order(ctx, at, id, client.Order{
		Fault: "hold@after:" + cmp.Or(f.rung.Taken, f.rung.Acquire), Wait: 20 * time.Second,
	})
	if err := o.waitHeld(ctx); err != nil {
		return nil, err
	}
	if err := o.endHold(ctx); err != nil || !f.rung.Queue {
		return o, err
	}
	return o, o.waitQueued(ctx, before)
}

// waitQueued waits until more than that many waiters queue, or the order is answered.
func (o *pending) waitQueued(ctx context.Context, before int64) error {
	return o.waitUntil(ctx, func() (bool, error) {
		queued, err := o.queued(ctx)
		return queued > before || o.answered(), err
	})
}

// queued counts the waiters that queue at the lock server, if the rung has a queue.
func (f *faultCell) queued(ctx context.Context) (int64, error) {
	if !f.rung.Queue {
		return 0, nil
	}
	return f.Targets.Servers[lockServer].Queued(ctx)
}
