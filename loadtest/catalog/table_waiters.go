package catalog

import (
	"time"

	"stockapi/loadtest/history"
)

// Many wait for the lock: who is next, and who is woken?

// here is the reason why no scenario puts the waiters of v18 and v19 in line.
const here = "orders that wait in the memory of their instance send no command, so nobody can tell when they wait"

var queueOrder = Scenario{
	Name: "queue-order",
	Does: "fifty come one after the other while the lock is held; one more when it is free, and the first of " +
		"them stopped",
	Instances: 2,
	Stops:     true,
	Topology:  Topology{OwnLocks: true},
	TTL:       longLease,
	Asks:      history.Order,
	groups: all(
		on("v4", overtaken, "who waits asks again after a while, and whoever asks first when it is free gets it"),
		on("v7", overtaken, "a release wakes one waiter per instance, and the one that loses waits again behind the others"),
		on("v8", holds, "who waits has a place in one queue for all instances, and the release calls the first"),
		on("v13", overtaken, "a release wakes all who wait, and any of them may be the first to make the node"),
		on("v14", holds, "ZooKeeper numbers those who come, and each waits for the one before it alone"),
		skip("v14-hasty",
			"it queues as v14 does, but the fresh request behind fifty others may come in when its wait ends: see hung-holder"),
		skip("v18 v19", here),
		skipOthers("it has no queue: v4, which polls, and v7, which is woken, stand for all of those"),
	),
}

var herd = Scenario{
	Name:      "herd",
	Does:      "fifty wait over two instances while the lock is held; then it is released, and all are served",
	Instances: 2,
	TTL:       longLease,
	Asks:      history.Herd,
	groups: all(
		on("v7", holds, "the waiters of an instance share one subscription, and a message lets one of them try"),
		on("v8", holds, "the release calls the first in line by name"),
		on("v13", herded, "all who wait watch the one node, and all but one of them go back to watch the next one's"),
		on("v14 v14-hasty", holds, "each watches the node before its own, and nobody else does"),
		skip("v18 v19", here),
		skipOthers("a release wakes nobody: who waits asks again after a while"),
	),
}

var waiterDies = Scenario{
	Name:      "waiter-dies",
	Does:      "one works while two wait behind it; the first of the two is killed, and the other is served in the end",
	Instances: 2,
	Topology:  Topology{OwnLocks: true},
	TTL:       longLease,
	Session:   2 * time.Second,
	Within:    2 * time.Second,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v5.7 v6 v9 v9-nodes v11 v12 v12-naive v15 v15-write-only", holds,
			"who waits asks again after a while, and leaves nothing behind when it dies"),
		on("v7", holds, "who waits listens to a channel, and the release wakes a waiter of each instance that still listens"),
		on("v8", holds, "the place of the dead expires, and then the one behind it is the first in line"),
		on("v10", holds, "the mark of the dead one keeps readers out until it expires, and no writer"),
		on("v12-session", holds, "who waits asks again after a while, and has no connection meanwhile"),
		on("v13", holds, "who waits watches the node of the holder, and not that of another who waits"),
		on("v14", holds, "the end of the dead one's node wakes it, but it looks again, and finds the first still before it"),
		on("v14-hasty", oversold,
			"the end of the dead one's node wakes it, and it takes itself for the holder, beside the first"),
		needNoFault,
		skip("v16 v17", "it has no lock that anybody waits for"),
		skip("v18 v19", here),
	),
}

var readersAndWriter = Scenario{
	Name:      "readers-and-writer",
	Does:      "twenty readers come one after the other without a gap, and a writer comes after the first",
	Instances: 2,
	TTL:       longLease,
	Within:    2 * time.Second,
	groups: all(
		on("v10", holds,
			"a writer that waits leaves a mark, past which no new reader gets in: it is next when those inside have left"),
		skipOthers("it has no lock that readers share"),
	),
}
