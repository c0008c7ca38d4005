package catalog

import "time"

// The servers themselves fail.

var nodeRestart = Scenario{
	Name:      "node-restart",
	Does:      "the lock server, or one of the nodes that granted, restarts empty while the lock is held",
	Instances: 2,
	Topology:  Topology{OwnLocks: true},
	TTL:       longLease,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
			"the server that knew of its lock knows nothing any more, and grants it again"),
		on("v6", oversold, "the node that has forgotten votes again, and with two that were never asked it is a majority"),
		on("v9-nodes", holds, "the node that has forgotten grants it again, but the other four have not forgotten"),
		on("v10", oversold, "the server that knew of its writer knows nothing any more, and lets the next one in"),
		on("v11", oversold, "the server that knew of its permit knows nothing any more, and grants it again"),
		on("v12 v12-naive", holds, "this server does not come back empty: it had the row on its disk before it granted it"),
		on("v12-session", shared,
			"its lock ends with the server, and is granted again; but so does its connection: it sees that at its next "+
				"look, at most 200 ms later, and cancels the work before it writes"),
		on("v13 v14", holds,
			"this server alone does not come back empty: it had the lock on its disk before it granted it, and the session "+
				"goes on"),
		on("v15 v15-write-only", shared,
			"the server grants it again, but with a newer token, and the stock refuses the older"),
		skip("v14-hasty",
			"its lock outlasts the restart as v14's does, but the second order may come in when its wait ends: see hung-holder"),
		needNoFault,
		takeNoLock,
	),
}

var delayedRestart = Scenario{
	Name:      "delayed-restart",
	Does:      "the same, but the node comes back only after the TTL",
	Instances: 2,
	Topology:  Topology{OwnLocks: true},
	groups: all(
		on("v6", holds, "what the node has forgotten is over by the time that it votes again"),
		skipOthers("its lock is not granted by some of several nodes, of which one could grant it again"),
	),
}

var clockJump = Scenario{
	Name:      "clock-jump",
	Does:      "the clock of the lock server, or of three nodes, jumps past the lease (simulated)",
	Instances: 2,
	Topology:  Topology{OwnLocks: true},
	TTL:       longLease,
	groups: all(
		on("v1 v12-naive v12-session", holds, "without a TTL no clock can end it"),
		on("v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
			"the lease ends by a clock that the holder does not see"),
		on("v6", oversold, "three nodes agree that the lease has ended, and they are the majority"),
		on("v9-nodes", holds, "three nodes grant it again, but the other two do not"),
		on("v10 v11", oversold, "the deadline passes by a clock that the holder does not see"),
		on("v12", oversold, "the row expires by the database's clock, which the holder does not see"),
		on("v15 v15-write-only", shared, "the lease ends early, but the stock refuses the older token"),
		needNoFault,
		skip("v13 v14", "no clock that can be set ends a session: the server counts by one that only goes forward"),
		takeNoLock,
	),
}

// noReplicas are the rungs whose servers have no replica in the scenarios about the replicas of one lock server.
var noReplicas = all(
	skip("v6 v9-nodes", "its nodes have no replica here: node-failover gives one of them a replica"),
	skip("v12 v12-naive v12-session",
		"a standby of a database that is promoted without the newest rows forgets a lock as Redis does; here is but one "+
			"server of it"),
	skip("v13 v14 v14-hasty",
		"an ensemble grants nothing that most of it does not have on disk: in minority-down its leader dies"),
)

var failover = Scenario{
	Name:      "failover",
	Does:      "the primary of the locks dies before it has replicated the lock, and a replica is promoted",
	Instances: 2,
	Topology:  Topology{ReplicatedLocks: true},
	TTL:       longLease,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
			"the replica never heard of the lock, and now it is the primary"),
		on("v5.7", holds, "no replica confirms the lock, so it gives it back and is refused before the primary dies"),
		on("v10", oversold, "the replica never heard of the writer, and now it is the primary"),
		on("v11", oversold, "the replica never heard of the permit, and now it is the primary"),
		on("v15 v15-write-only", shared,
			"the replica never heard of the lock, and now it is the primary; but the stock, which is elsewhere, refuses the "+
				"older token"),
		needNoFault,
		noReplicas,
		takeNoLock,
	),
}

var failoverLagging = Scenario{
	Name:      "failover-lagging",
	Does:      "of two replicas one has the lock, and when the primary dies the other one is promoted",
	Instances: 2,
	Topology:  Topology{ReplicatedLocks: true},
	TTL:       longLease,
	groups: all(
		on("v5.7", oversold,
			"one replica of two has confirmed the lock, and Sentinel promotes the one that has the better priority"),
		skipOthers("it does not ask whether any replica has its lock: failover shows what becomes of it"),
	),
}

var nodeFailover = Scenario{
	Name:      "node-failover",
	Does:      "one of the nodes that granted has a replica that never heard of the lock, and fails over to it",
	Instances: 2,
	Topology:  Topology{OwnLocks: true, ReplicatedNode: true},
	TTL:       longLease,
	groups: all(
		on("v6", oversold, "the replica grants what its primary granted before, and with two nodes that were never asked "+
			"it is a majority"),
		on("v9-nodes", holds, "the replica grants it again, but the other four nodes have not forgotten"),
		haveOneServer,
	),
}

var nodeFailoverDelayed = Scenario{
	Name:      "node-failover-delayed",
	Does:      "the same, but the replica is promoted only when its primary has been away for the TTL",
	Instances: 2,
	Topology:  Topology{OwnLocks: true, ReplicatedNode: true},
	TTL:       3 * time.Second,
	groups: all(
		on("v6", holds, "what the replica never heard of is over by the time that it votes, as it lost its majority before"),
		skipOthers("its lock is not granted by some of several nodes, of which one could grant it again"),
	),
}

var splitBrain = Scenario{
	Name: "split-brain",
	Does: "the primary of the locks is cut off with one instance; the other instance has a replica that was promoted, " +
		"and both sides go on",
	Instances: 2,
	Topology:  Topology{ReplicatedLocks: true, OneLink: true},
	TTL:       longLease,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9 v10 v11", oversold,
			"there are two primaries, neither hears of the other, and each grants the lock"),
		on("v5.7", holds, "the old primary reaches no replica that could confirm the lock, so it grants nothing"),
		on("v15 v15-write-only", shared,
			"two primaries grant the lock, but the clock makes the token of the later grant the higher one, and the stock, "+
				"of which there is one, refuses the older"),
		needNoFault,
		noReplicas,
		takeNoLock,
	),
}

// splitForAll says why few rungs take part in the cells about min-replicas-to-write.
const splitForAll = "an acquire is a write like any other: v5.5 and v7 stand for all of them"

var splitBrainMinReplicas = Scenario{
	Name:      "split-brain-min-replicas",
	Does:      "the same with min-replicas-to-write 1, when the old primary has missed its replicas for max-lag",
	Instances: 2,
	Topology:  Topology{ReplicatedLocks: true, OneLink: true, MinReplicas: true},
	TTL:       longLease,
	groups: all(
		on("v5.5", holds, "the old primary has heard of no replica for longer than max-lag, and refuses every write"),
		on("v5.7", holds, "the old primary refuses the write before WAIT could say anything"),
		on("v7", holds, "the old primary refuses the write of a script too"),
		skipOthers(splitForAll),
	),
}

var splitBrainInLag = Scenario{
	Name:      "split-brain-in-lag",
	Does:      "the same, but the lock is taken on the old primary before max-lag has passed",
	Instances: 2,
	Topology:  Topology{ReplicatedLocks: true, OneLink: true, MinReplicas: true},
	TTL:       longLease,
	groups: all(
		on("v5.5 v7", oversold,
			"until max-lag has passed the old primary counts replicas that it does not reach, and the lease outlasts that"),
		on("v5.7", holds, "WAIT asks for this lock, and not whether a replica answered lately"),
		skipOthers(splitForAll),
	),
}

var stockFailover = Scenario{
	Name:      "stock-failover",
	Does:      "the primary of the stock dies before it has replicated a sale; the locks are elsewhere, and well",
	Instances: 2,
	Topology:  Topology{ReplicatedStock: true},
	TTL:       longLease,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v6 v7 v8 v9 v9-nodes v10 v11 v12 v12-naive v12-session v13 "+
			"v14", soldTwice,
			"the lock did its work, but the stock itself went back to before the sale"),
		on("v15 v15-write-only", soldTwice, "the newest token seen goes back with the stock"),
		on("v16", soldTwice, "what WATCH watches has gone back to before the sale"),
		on("v17", soldTwice, "a script is whole or not at all, but the whole can be forgotten"),
		needNoFault,
	),
}
