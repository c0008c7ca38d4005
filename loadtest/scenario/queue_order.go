package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
)

var queueOrder = declare(catalog.Scenario{
	Name: "queue-order",
	Does: "fifty orders arrive one after another while the lock is held; one more arrives when it is free and the " +
		"first of them is stopped",
	Instances:  2,
	Stops:      true,
	Topology:   catalog.Topology{OwnLocks: true},
	TTL:        longLease,
	AlsoJudged: history.InOrder,
}, injectQueueOrder,
	on("v4", overtaken, "waiters poll, and the first to poll when it is free gets it"),
	on("v7", overtaken, "a release wakes one waiter per instance, and the one that loses waits again behind the others"),
	on("v8", holds, "waiters of all instances share one queue, and the release calls the first"),
	on("v13", overtaken, "a release wakes all waiters, and any of them may be the first to create the node"),
	on("v14", holds, "ZooKeeper numbers the waiters, and each waits only for the one before it"),
	skip("v14-hasty",
		"it queues as v14 does, but the fresh request behind fifty others may get in when its wait ends: see hung-holder"),
	skip("v7-cached", "it waits as v7 does"),
	skip("v18 v19", here),
	skipOthers("it has no queue: v4, which polls, and v7, which is woken, stand for all such rungs"),
)

// injectQueueOrder sends fifty orders, one after the other, to b and a in turn, while an order on a holds the lock.
// When the lock is released, the first in the queue cannot acquire it at once, since its process is stopped. Meanwhile
// one more order arrives at a.
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
	next.note(begun, rig.StopFault(time.Since(begun), "while the lock became free", 0))
}

// enqueue sends the next order, and waits until it is known to precede any order sent after it: until it is in the
// queue, unless it acquires the lock at once, or, without a queue, until it is known to be about to send its acquire.
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
