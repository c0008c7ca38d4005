package scenario

import (
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
	locks := f.Targets.Servers[lockServer]
	before, err := locks.Queued(ctx)
	if err != nil {
		return nil, err
	}
	order := client.Order{Wait: 20 * time.Second}
	if !f.rung.Queue {
		order.Fault = "hold@before:" + f.rung.Acquire
	}
	o := f.order(ctx, at, strconv.Itoa(n), order)
	if f.rung.Queue {
		return o, o.waitUntil(ctx, func() (bool, error) {
			queued, err := locks.Queued(ctx)
			return queued > before || o.answered(), err
		})
	}
	if err := o.waitHeld(ctx); err != nil {
		return nil, err
	}
	return o, o.endHold(ctx)
}
