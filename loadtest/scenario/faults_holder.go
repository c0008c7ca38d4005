package scenario

import (
	"cmp"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

// The instances of a fault scenario: the fault hits a, and the other orders go to b.
const a, b = 0, 1

// secondWait is the max wait of the second order: past the end of the first lease, but less than v5.5's
// renewals last, and less than the service gives a write that has begun.
func (f *play) secondWait() time.Duration { return f.Load.TTL * 7 / 4 }

// longWork is work that takes longer than a lease, and longer than v5.5 renews one.
func (f *play) longWork() time.Duration { return f.Load.TTL * 5 / 2 }

// endlessWork is work that still goes on when the last fresh request has been refused.
func (f *play) endlessWork() time.Duration { return f.cell.Limit + 1200*time.Millisecond }

// injectCrash kills a while it holds the lock.
func injectCrash(f *play) {
	point := cmp.Or(f.rung.Gap, "before:"+f.rung.Write)
	f.warmUp()
	gone, begun := f.Targets.Processes[a].ExpectExit(), time.Now()
	first := f.order(a, "1", client.Order{Fault: "crash@" + point})
	first.waitDied(gone)
	first.recordFault(begun, "killed %s", strings.Replace(point, ":", " ", 1))
	f.probes = []int{b}
}

// injectSlowWork lets a work longer than its lease lasts, without any failure. Meanwhile b tries to sell.
func injectSlowWork(f *play) {
	f.slowWork(client.Order{}, nil, func(first *inFlight, begun time.Time) {
		first.recordFault(begun, "working %s under a lease of %s", seconds(f.longWork()), seconds(f.Load.TTL))
	})
}

// injectExplicitLease is injectSlowWork with an order whose lease is not renewed.
func injectExplicitLease(f *play) {
	f.slowWork(client.Order{NoRenew: true}, nil, func(first *inFlight, begun time.Time) {
		first.recordFault(begun, "working %s under a lease of %s, not renewed", seconds(f.longWork()), seconds(f.Load.TTL))
	})
}

// slowWork lets a work longer than its lease lasts, on an order like with, and calls fault, unless nil, when that work
// begins. Meanwhile b tries to sell. When a has ended it calls record.
func (f *play) slowWork(with client.Order, fault func(), record func(first *inFlight, begun time.Time)) {
	f.warmUp()
	with.Fault, with.Work, with.Wait = "hold@"+f.rung.AfterRead(), f.longWork(), 4*f.Load.TTL
	first := f.order(a, "1", with)
	first.waitHeld()
	begun := time.Now()
	if fault != nil {
		fault()
	}
	first.endHold()
	second := f.order(b, "2", client.Order{Wait: 4 * f.Load.TTL})
	first.waitAnswered()
	record(first, begun)
	second.waitAnswered()
}

// injectLateRelease holds a at work past its lease, until b holds the lock. Then a ends, and a third order comes while
// b still holds the lock.
func injectLateRelease(f *play) {
	first, second := f.holdPastLease("hold@"+f.rung.AfterRead(), "at work")
	first.endHold()
	first.waitAnswered()
	f.order(a, "3", client.Order{}).waitAnswered()
	second.finish()
}

// injectCheckDeleteGap holds a between its sale and its release, past its lease, until b holds the lock. Then a
// releases.
func injectCheckDeleteGap(f *play) {
	first, second := f.holdPastLease(pointsBeforeRelease, "before its release")
	first.endHold()
	first.waitAnswered()
	second.finish()
}

// pointsBeforeRelease names every command that releases a lock of any rung: a release script that has become a GET and
// a DEL has to be found too.
var pointsBeforeRelease = "hold@before:" + strings.Join(catalog.Releases(), ",hold@before:")

// holdPastLease holds the first order, on a, until the second, on b, holds the lock or has given up waiting for it.
func (f *play) holdPastLease(fault, where string) (first, second *inFlight) {
	f.warmUp()
	first = f.order(a, "1", client.Order{Fault: fault})
	first.waitHeld()
	begun := time.Now()
	second = f.order(b, "2", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	second.waitHeldOrAnswered()
	first.recordFault(begun, "held for %s %s under a lease of %s", seconds(time.Since(begun)), where, seconds(f.Load.TTL))
	return first, second
}

// injectPause stops a at the last moment before its write. Then b sells, and a is continued.
func injectPause(f *play) {
	f.stopBeforeWrite("", (*inFlight).waitAnswered, func(*inFlight) {})
}

// injectPauseAtWork stops a in the middle of its work. Then b sells. When its work is due to end, a is continued, so
// that its last check of the lease comes at the same moment as the events that report the loss.
func injectPauseAtWork(f *play) {
	f.warmUp()
	work := f.Load.TTL
	first := f.order(a, "1", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: work, Wait: 4 * f.Load.TTL})
	first.waitHeld()
	first.endHold()
	begun := time.Now()
	first.stop()
	f.order(b, "2", client.Order{Wait: f.secondWait()}).waitAnswered()
	f.sleepUntil(begun.Add(work))
	first.resume()
	first.recordStop(begun, "stopped for %s at work under a lease of %s", seconds(time.Since(begun)), seconds(f.Load.TTL))
	first.waitAnswered()
}

// injectWriteOnlyFence stops a between its read and its write, until b has read too. Then a writes, and after it b.
func injectWriteOnlyFence(f *play) {
	f.stopBeforeWrite("hold@before:"+f.rung.Write, (*inFlight).waitHeld, (*inFlight).finish)
}

// stopBeforeWrite stops a before its write and sends a second order to b. When that has come as far as reached waits
// for, a is continued. After a has ended it calls after.
func (f *play) stopBeforeWrite(fault string, reached, after func(second *inFlight)) {
	f.warmUp()
	first := f.order(a, "1", client.Order{Fault: "stop@before:" + f.rung.Write, Wait: f.secondWait()})
	first.waitStopped()
	begun := time.Now()
	second := f.order(b, "2", client.Order{Fault: fault, Wait: f.secondWait()})
	reached(second)
	first.resume()
	first.recordStop(begun, "stopped for %s before %s under a lease of %s", seconds(time.Since(begun)), f.rung.Write,
		seconds(f.Load.TTL))
	first.waitAnswered()
	after(second)
}

// injectHungHolder lets a work longer than anybody waits. The fresh requests come while it works.
func injectHungHolder(f *play) {
	f.warmUp()
	first := f.order(a, "1", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: f.endlessWork()})
	first.waitHeld()
	begun := time.Now()
	first.endHold()
	first.recordFault(begun, "working on and on under a lease of %s", seconds(f.Load.TTL))
	f.probes = []int{b}
}
