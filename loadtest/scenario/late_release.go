package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/rig"
)

var lateRelease = declare(catalog.Scenario{
	Name:      "late-release",
	Does:      "the first holder releases after its lease has expired, while a second order holds the lock; a third tries",
	Instances: 2,
	TTL:       renewedLease,
	First:     true,
}, injectLateRelease,
	on("v1 v12-naive v12-session", holds, "without a TTL there is no second holder"),
	on("v1.5 v2", oversoldFreed,
		"its DEL removes whatever key is there, by now the second holder's, and the third gets in"),
	on("v3", oversold, "the second got in by expiry, but the first sees another's token and deletes nothing"),
	on("v4", oversold, "the second got in by expiry, but the script finds another's token and deletes nothing"),
	on("v5 v5-as-printed v6 v7 v8 v10 v12 v15 v15-write-only", holds,
		"the lease is renewed, so there is no second holder"),
	on("v5.5 v9 v9-nodes", holds, "the lease is renewed up to a bound, and this work stays within it"),
	on("v11", holds, "the permit is renewed, so there is no second holder"),
	on("v13 v14", holds, "the session lasts, so there is no second holder"),
	on("v14-hasty", oversold, "each of the others waits until it times out, and then believes it holds the lock"),
	needNoFault,
	takeNoLock,
)

// injectLateRelease holds a at work past its lease, until b holds the lock. Then a ends, and a third order arrives
// while b still holds the lock.
func injectLateRelease(f *play) {
	first, second := f.holdPastLease("hold@"+f.rung.AfterRead(), "at work")
	first.finish()
	f.order(a, "3", client.Order{}).waitAnswered()
	second.finish()
}

// holdPastLease holds the first order, on a, until the second, on b, holds the lock or has given up waiting for it.
func (f *play) holdPastLease(fault, where string) (first, second *inFlight) {
	f.warmUp()
	first = f.order(a, "anna", client.Order{Fault: fault})
	first.waitHeld()
	begun := time.Now()
	second = f.order(b, "bert", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	second.waitHeldOrAnswered()
	first.note(begun, rig.HoldFault(time.Since(begun), where, f.Load.TTL))
	return first, second
}
