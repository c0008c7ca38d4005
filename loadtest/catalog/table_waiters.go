package catalog

import (
	"time"

	"stockapi/loadtest/history"
)

// Many wait for the lock: who is next, and who is woken?

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
		on("v14", holds, "each watches the node before its own, and nobody else does"),
		skipOthers("a release wakes nobody: who waits asks again after a while"),
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
