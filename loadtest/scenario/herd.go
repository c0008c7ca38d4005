package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

var herd = declare(catalog.Scenario{
	Name:       "herd",
	Does:       "fifty orders wait on two instances while the lock is held; then it is released, and all are served",
	Instances:  2,
	TTL:        longLease,
	AlsoJudged: history.Herd,
}, injectHerd,
	on("v7", holds, "the waiters of an instance share one subscription, and a message lets one of them try"),
	on("v8", holds, "the release calls the first in line by name"),
	on("v13", herded, "all waiters watch the one node, and all but one go back to watching the next holder's"),
	on("v14 v14-hasty", holds, "each node is watched only by the waiter right behind it"),
	skip("v7-cached", "it waits as v7 does"),
	skip("v18 v19", here),
	skipOthers("a release wakes no waiter: they poll"),
)

// injectHerd lets fifty orders find the lock taken, on b and a in turn, and waits until each of them was served.
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

// requeueTime is the work of each order, long enough for waiters woken in vain to wait again before the next release.
const requeueTime = 40 * time.Millisecond
