package scenario

import (
	"cmp"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/rig"
)

var waiterDies = declare(catalog.Scenario{
	Name:      "waiter-dies",
	Does:      "one order works while two wait behind it; the first waiter is killed, and the other is served in the end",
	Instances: 2,
	Topology:  catalog.Topology{OwnLocks: true},
	TTL:       longLease,
	Session:   2 * time.Second,
	Within:    2 * time.Second,
}, injectWaiterDies,
	on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v5.7 v6 v9 v9-nodes v11 v12 v12-naive v15 v15-write-only", holds,
		"waiters poll, and a dead one leaves nothing behind"),
	on("v7", holds, "waiters subscribe to a channel, and the release wakes one on each instance that is still alive"),
	on("v8", holds, "the dead waiter's place in the queue expires, and the one behind it moves up"),
	on("v10", holds, "the dead writer's mark keeps readers out until it expires, but not writers"),
	on("v12-session", holds, "waiters poll, and hold no connection in between"),
	on("v13", holds, "every waiter watches the holder's node, not another waiter's"),
	on("v14", holds, "the dead waiter's node vanishes and wakes it, but it checks again and finds the holder still ahead"),
	on("v14-hasty", oversold,
		"the dead waiter's node vanishes and wakes it, and it believes it holds the lock, beside the first"),
	needNoFault,
	skip("v16 v17", "it has no lock to wait for"),
	skip("v18 v19", here),
)

// injectWaiterDies has a work while the second order, on b, waits for the lock, and the third, on a again, waits
// behind it. Then b is killed. A place that ends with b's session is gone when a's work begins.
func injectWaiterDies(f *play) {
	f.warmUp()
	first := f.order(a, "anna", client.Order{
		Fault: "hold@" + f.rung.AfterRead(), Work: f.session, Wait: f.session, // it is held for a session
	})
	first.waitHeld()
	second := f.waitForLock(b, "bert")
	third := f.waitForLock(a, "3")
	queued := f.queued()
	begun := time.Now()
	second.kill()
	second.note(begun, rig.KillFault("while it waited for the lock"))
	second.waitPlaceGone(queued)
	first.endHold()
	for _, o := range []*inFlight{third, first} {
		o.waitAnswered()
	}
	third.recordFault(begun, "waiting behind order 2, which was killed")
	f.probes = []int{a}
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

// waitPlaceGone waits until fewer than queued waiters are left, if places end with their sessions.
func (o *inFlight) waitPlaceGone(queued int64) {
	if o.rung.OnZooKeeper() && o.rung.Queue {
		o.waitAtMost(o.session+barrierTimeout, func() bool { return o.queued() < queued })
	}
}
