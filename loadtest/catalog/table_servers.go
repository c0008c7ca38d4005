package catalog

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
		on("v14-hasty", oversold,
			"this server does not come back empty; but the second order waits for a time, and then takes itself for the holder"),
		on("v15 v15-write-only", shared,
			"the server grants it again, but with a newer token, and the stock refuses the older"),
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

var failover = Scenario{
	Name:      "failover",
	Does:      "the primary of the locks dies before it has replicated the lock, and the replica is promoted",
	Instances: 2,
	Topology:  Topology{ReplicatedLocks: true},
	TTL:       longLease,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
			"the replica never heard of the lock, and now it is the primary"),
		on("v6 v9-nodes", holds, "its nodes are independent: there is no replica that could know less"),
		on("v10", oversold, "the replica never heard of the writer, and now it is the primary"),
		on("v11", oversold, "the replica never heard of the permit, and now it is the primary"),
		on("v15 v15-write-only", shared,
			"the replica never heard of the lock, and now it is the primary; but the stock, which is elsewhere, refuses the "+
				"older token"),
		needNoFault,
		skip("v12 v12-naive v12-session",
			"a standby of a database that is promoted without the newest rows forgets a lock as Redis does; here is but one "+
				"server of it"),
		skip("v13 v14", "an ensemble grants nothing that most of it does not have on disk: in minority-down its leader dies"),
		takeNoLock,
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
