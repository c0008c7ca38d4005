package scenario

import (
	"context"
	"slices"

	"stockapi/loadtest/catalog"
)

var failover = declare(catalog.Scenario{
	Name:      "failover",
	Does:      "the primary of the locks dies before it has replicated the lock, and a replica is promoted",
	Instances: 2,
	Topology:  catalog.Topology{ReplicatedLocks: true},
	TTL:       longLease,
}, injectFailover,
	on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
		"the replica never heard of the lock, and now it is the primary"),
	on("v5.7", holds, "no replica confirms the lock, so it is released and the order refused before the primary dies"),
	on("v10", oversold, "the replica never heard of the writer, and now it is the primary"),
	on("v11", oversold, "the replica never heard of the permit, and now it is the primary"),
	on("v15 v15-write-only", shared,
		"the replica never heard of the lock, and now it is the primary; but the stock, which is elsewhere, refuses the "+
			"older token"),
	needNoFault,
	noReplicas,
	takeNoLock,
)

// injectFailover kills the primary of the locks before its replicas have a's lock.
func injectFailover(f *play) {
	f.failOver(f.locks().PauseReplication)
}

var failoverLagging = declare(catalog.Scenario{
	Name:      "failover-lagging",
	Does:      "only one of two replicas has the lock; the primary dies, and the other replica is promoted",
	Instances: 2,
	Topology:  catalog.Topology{ReplicatedLocks: true},
	TTL:       longLease,
}, injectFailoverLagging,
	on("v5.7", oversold,
		"one of two replicas has confirmed the lock, and Sentinel promotes the other, which has the better priority"),
	skipOthers("it does not check whether any replica has its lock: failover shows the result"),
)

// injectFailoverLagging does the same, but one replica has a's lock, and the other one is promoted.
func injectFailoverLagging(f *play) {
	f.failOver(f.locks().PauseReplicationToNext)
}

func (f *play) failOver(pause func(context.Context) error) {
	f.warmUp()
	f.must(pause(f.ctx))
	f.mayRefuse = f.rung.Replicated
	f.loseLock("whose lock died with its primary", func() { f.must(f.locks().FailOver(f.ctx)) })
}

// noReplicas are the rungs whose servers have no replica in the scenarios on the replicas of one lock server.
var noReplicas = slices.Concat(
	skip("v6 v9-nodes", "its nodes have no replica here: node-failover gives one of them a replica"),
	skip("v12 v12-naive v12-session",
		"a standby promoted without the newest rows would forget a lock as Redis does; here the database is a single "+
			"server"),
	skip("v13 v14 v14-hasty",
		"an ensemble grants only what a majority has on disk: in minority-down its leader dies"),
)
