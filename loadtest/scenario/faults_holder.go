package scenario

import (
	"cmp"
	"context"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

// The instances of a fault scenario: the fault hits a, and the other orders go to b.
const a, b = 0, 1

// secondWait is the max wait of the second order: past the end of the first lease, but less than v5.5's
// renewals last, and less than the service gives a write that has begun.
func (f *faultCell) secondWait() time.Duration { return f.Load.TTL * 7 / 4 }

// longWork is work that takes longer than a lease, and longer than v5.5 renews one.
func (f *faultCell) longWork() time.Duration { return f.Load.TTL * 5 / 2 }

// endlessWork is work that still goes on when the last fresh request has been refused.
func (f *faultCell) endlessWork() time.Duration { return f.cell.Limit + 1200*time.Millisecond }

// injectCrash kills a while it holds the lock.
func injectCrash(ctx context.Context, f *faultCell) error {
	point := cmp.Or(f.rung.Gap, "before:"+f.rung.Write)
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	gone, begun := f.Targets.Processes[a].ExpectExit(), time.Now()
	first := f.order(ctx, a, "1", client.Order{Fault: "crash@" + point})
	if err := first.waitDied(ctx, gone); err != nil {
		return err
	}
	first.recordFault(begun, "killed %s", strings.Replace(point, ":", " ", 1))
	f.probes = []int{b}
	return nil
}

// injectSlowWork lets a work longer than its lease lasts, without any failure. Meanwhile b tries to sell.
func injectSlowWork(ctx context.Context, f *faultCell) error {
	return f.slowWork(ctx, client.Order{}, nil, func(first *pending, begun time.Time) {
		first.recordFault(begun, "working %s under a lease of %s", seconds(f.longWork()), seconds(f.Load.TTL))
	})
}

// injectExplicitLease is injectSlowWork with an order whose lease is not renewed.
func injectExplicitLease(ctx context.Context, f *faultCell) error {
	return f.slowWork(ctx, client.Order{NoRenew: true}, nil, func(first *pending, begun time.Time) {
		first.recordFault(begun, "working %s under a lease of %s, not renewed", seconds(f.longWork()), seconds(f.Load.TTL))
	})
}

// slowWork lets a work longer than its lease lasts, on an order like with, and calls fault, unless nil, when that work
// begins. Meanwhile b tries to sell. When a has ended it calls record.
func (f *faultCell) slowWork(ctx context.Context, with client.Order, fault func() error,
	record func(first *pending, begun time.Time)) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	with.Fault, with.Work, with.Wait = "hold@"+f.rung.AfterRead(), f.longWork(), 4*f.Load.TTL
	first := f.order(ctx, a, "1", with)
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if fault != nil {
		if err := fault(); err != nil {
			return err
		}
	}
	if err := first.endHold(ctx); err != nil {
		return err
	}
	second := f.order(ctx, b, "2", client.Order{Wait: 4 * f.Load.TTL})
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	record(first, begun)
	return second.waitAnswered(ctx)
}

// injectLateRelease holds a at work past its lease, until b holds the lock. Then a ends, and a third order comes while
// b still holds the lock.
func injectLateRelease(ctx context.Context, f *faultCell) error {
	first, second, err := f.holdPastLease(ctx, "hold@"+f.rung.AfterRead(), "at work")
	if err != nil {
		return err
	}
	if err := first.endHold(ctx); err != nil {
		return err
	}
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	if err := f.order(ctx, a, "3", client.Order{}).waitAnswered(ctx); err != nil {
		return err
	}
	return second.finish(ctx)
}

// injectCheckDeleteGap holds a between its sale and its release, past its lease, until b holds the lock. Then a
// releases.
func injectCheckDeleteGap(ctx context.Context, f *faultCell) error {
	first, second, err := f.holdPastLease(ctx, pointsBeforeRelease, "before its release")
	if err != nil {
		return err
	}
	if err := first.endHold(ctx); err != nil {
		return err
	}
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	return second.finish(ctx)
}

// pointsBeforeRelease names every command that releases a lock of any rung: a release script that has become a GET and
// a DEL has to be found too.
var pointsBeforeRelease = "hold@before:" + strings.Join(catalog.Releases(), ",hold@before:")

// holdPastLease holds the first order, on a, until the second, on b, holds the lock or has given up waiting for it.
func (f *faultCell) holdPastLease(ctx context.Context, fault, where string) (first, second *pending, err error) {
	if err := f.warmUp(ctx); err != nil {
		return nil, nil, err
	}
	first = f.order(ctx, a, "1", client.Order{Fault: fault})
	if err := first.waitHeld(ctx); err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	second = f.order(ctx, b, "2", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	if _, err := second.waitHeldOrAnswered(ctx); err != nil {
		return nil, nil, err
	}
	first.recordFault(begun, "held for %s %s under a lease of %s", seconds(time.Since(begun)), where, seconds(f.Load.TTL))
	return first, second, nil
}

// finish ends the hold of an order, if it is held, and waits for its end.
func (o *pending) finish(ctx context.Context) error {
	if o.answered() {
		return nil
	}
	if err := o.endHold(ctx); err != nil {
		return err
	}
	return o.waitAnswered(ctx)
}

// injectPause stops a at the last moment before its write. Then b sells, and a is continued.
func injectPause(ctx context.Context, f *faultCell) error {
	return f.stopBeforeWrite(ctx, "", func(second *pending) error { return second.waitAnswered(ctx) }, nil)
}

// injectPauseAtWork stops a in the middle of its work. Then b sells. When its work is due to end, a is continued, so
// that its last check of the lease comes at the same moment as the events that report the loss.
func injectPauseAtWork(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	work := f.Load.TTL
	first := f.order(ctx, a, "1", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: work, Wait: 4 * f.Load.TTL})
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	if err := first.endHold(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := first.stop(ctx); err != nil {
		return err
	}
	if err := f.order(ctx, b, "2", client.Order{Wait: f.secondWait()}).waitAnswered(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(time.Until(begun.Add(work))):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := first.resume(); err != nil {
		return err
	}
	first.recordStop(begun, "stopped for %s at work under a lease of %s", seconds(time.Since(begun)), seconds(f.Load.TTL))
	return first.waitAnswered(ctx)
}

// injectWriteOnlyFence stops a between its read and its write, until b has read too. Then a writes, and after it b.
func injectWriteOnlyFence(ctx context.Context, f *faultCell) error {
	return f.stopBeforeWrite(ctx, "hold@before:"+f.rung.Write,
		func(second *pending) error { return second.waitHeld(ctx) },
		func(second *pending) error { return second.finish(ctx) })
}

// stopBeforeWrite stops a before its write and sends a second order to b. When reached says that the second order has
// come far enough, a is continued. After a has ended it calls after, unless nil.
func (f *faultCell) stopBeforeWrite(ctx context.Context, fault string,
	reached, after func(second *pending) error) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", client.Order{Fault: "stop@before:" + f.rung.Write, Wait: f.secondWait()})
	if err := first.waitStopped(ctx); err != nil {
		return err
	}
	begun := time.Now()
	second := f.order(ctx, b, "2", client.Order{Fault: fault, Wait: f.secondWait()})
	if err := reached(second); err != nil {
		return err
	}
	if err := first.resume(); err != nil {
		return err
	}
	first.recordStop(begun, "stopped for %s before %s under a lease of %s", seconds(time.Since(begun)), f.rung.Write,
		seconds(f.Load.TTL))
	if err := first.waitAnswered(ctx); err != nil || after == nil {
		return err
	}
	return after(second)
}

// injectHungHolder lets a work longer than anybody waits. The fresh requests come while it works.
func injectHungHolder(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: f.endlessWork()})
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := first.endHold(ctx); err != nil {
		return err
	}
	first.recordFault(begun, "working on and on under a lease of %s", seconds(f.Load.TTL))
	f.probes = []int{b}
	return nil
}
