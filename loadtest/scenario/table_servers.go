package scenario

// Why ZooKeeper and databases have no part in some of it.
const (
	noClock   = "no clock that can be set ends a session: the server counts by one that only goes forward"
	noStandby = "a standby of a database that is promoted without the newest rows forgets a lock as Redis does; here is but one server of it"
	noReplica = "an ensemble grants nothing that most of it does not have on disk; here is but one server of it"
)

// What happens to the servers themselves.
var (
	nodeRestart = Scenario{
		Name: "node-restart", Does: "the lock server, or one of the nodes that granted, restarts empty while the lock is held", Instances: 2, inject: injectNodeRestart,
		Topology: Topology{OwnLocks: true},
		TTL:      longLease,
		Apart: map[string]string{
			"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside, "v16": noLease, "v17": noLease,
		},
		Expect: []Expectation{
			{"v1", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v1.5", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v2", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v3", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v4", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v5", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v5-as-printed", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v5.5", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v6", oversold, "the node that has forgotten votes again, and with two that were never asked it is a majority"},
			{"v7", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v7-cached", oversold, "as v7: the server that knew of its lock knows nothing any more, and grants it again"},
			{"v8", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v9", oversold, "the server that knew of its lock knows nothing any more, and grants it again"},
			{"v9-naive", oversold, "as v9, when an order names one product: the server that knew of its lock knows nothing any more, and grants it again"},
			{"v9-nodes", leaseHolds, "the node that has forgotten grants it again, but the other four have not forgotten"},
			{"v10", oversold, "the server that knew of its writer knows nothing any more, and lets the next one in"},
			{"v11", oversold, "the server that knew of its permit knows nothing any more, and grants it again"},
			{"v12", leaseHolds, "this server does not come back empty: it had the row on its disk before it granted it"},
			{"v12-session", shared, "its lock ends with the server, and is granted again; but so does its connection: it sees that at its next look, at most 200 ms later, and cancels the work before it writes"},
			{"v13", fenceHolds, "this server alone does not come back empty: it had the lock on its disk before it granted it, and the session goes on"},
			{"v14", fenceHolds, "this server alone does not come back empty: it had the lock on its disk before it granted it, and the session goes on"},
			{"v15", fencedShared, "the server grants it again, but with a newer token, and the stock refuses the older"},
			{"v15-write-only", fencedShared, "the server grants it again, but with a newer token, and the stock refuses the older"},
		},
	}
	delayedRestart = Scenario{
		Name: "delayed-restart", Does: "the same, but the node comes back only after the TTL", Instances: 2, inject: injectDelayedRestart,
		Topology: Topology{OwnLocks: true},
		Apart:    apartFrom([]string{"v6"}, "its lock is not granted by some of several nodes, of which one could grant it again"),
		Expect: []Expectation{
			{"v6", leaseHolds, "what the node has forgotten is over by the time that it votes again"},
		},
	}
	clockJump = Scenario{
		Name: "clock-jump", Does: "the clock of the lock server, or of three nodes, jumps past the lease (simulated)", Instances: 2, inject: injectClockJump,
		Topology: Topology{OwnLocks: true},
		TTL:      longLease,
		Apart: map[string]string{
			"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside, "v13": noClock, "v14": noClock, "v16": noLease, "v17": noLease,
		},
		Expect: []Expectation{
			{"v1", leaseHolds, "without a TTL no clock can end it"},
			{"v1.5", oversold, "the lease ends by a clock that the holder does not see"},
			{"v2", oversold, "the lease ends by a clock that the holder does not see"},
			{"v3", oversold, "the lease ends by a clock that the holder does not see"},
			{"v4", oversold, "the lease ends by a clock that the holder does not see"},
			{"v5", oversold, "the lease ends by a clock that the holder does not see"},
			{"v5-as-printed", oversold, "the lease ends by a clock that the holder does not see"},
			{"v5.5", oversold, "the lease ends by a clock that the holder does not see"},
			{"v6", oversold, "three nodes agree that the lease has ended, and they are the majority"},
			{"v7", oversold, "the lease ends by a clock that the holder does not see"},
			{"v7-cached", oversold, "as v7: the lease ends by a clock that the holder does not see"},
			{"v8", oversold, "the lease ends by a clock that the holder does not see"},
			{"v9", oversold, "the lease ends by a clock that the holder does not see"},
			{"v9-naive", oversold, "as v9, when an order names one product: the lease ends by a clock that the holder does not see"},
			{"v9-nodes", leaseHolds, "three nodes grant it again, but the other two do not"},
			{"v10", oversold, "the deadline passes by a clock that the holder does not see"},
			{"v11", oversold, "the deadline passes by a clock that the holder does not see"},
			{"v12", oversold, "the row expires by the database's clock, which the holder does not see"},
			{"v12-session", leaseHolds, "without a TTL no clock can end it"},
			{"v15", fencedShared, "the lease ends early, but the stock refuses the older token"},
			{"v15-write-only", fencedShared, "the lease ends early, but the stock refuses the older token"},
		},
	}
	failover = Scenario{
		Name: "failover", Does: "the primary of the locks dies before it has replicated the lock, and the replica is promoted", Instances: 2, inject: injectFailover,
		Topology: Topology{ReplicatedLocks: true},
		TTL:      longLease,
		Apart: map[string]string{
			"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside, "v12": noStandby, "v12-session": noStandby,
			"v13": noReplica, "v14": noReplica, "v16": noLease, "v17": noLease,
		},
		Expect: []Expectation{
			{"v1", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v1.5", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v2", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v3", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v4", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v5", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v5-as-printed", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v5.5", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v6", leaseHolds, "its nodes are independent: there is no replica that could know less"},
			{"v7", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v7-cached", oversold, "as v7: the replica never heard of the lock, and now it is the primary"},
			{"v8", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v9", oversold, "the replica never heard of the lock, and now it is the primary"},
			{"v9-naive", oversold, "as v9, when an order names one product: the replica never heard of the lock, and now it is the primary"},
			{"v9-nodes", leaseHolds, "its nodes are independent: there is no replica that could know less"},
			{"v10", oversold, "the replica never heard of the writer, and now it is the primary"},
			{"v11", oversold, "the replica never heard of the permit, and now it is the primary"},
			{"v15", fencedShared, "the replica never heard of the lock, and now it is the primary; but the stock, which is elsewhere, refuses the older token"},
			{"v15-write-only", fencedShared, "the replica never heard of the lock, and now it is the primary; but the stock, which is elsewhere, refuses the older token"},
		},
	}
	stockFailover = Scenario{
		Name: "stock-failover", Does: "the primary of the stock dies before it has replicated a sale; the locks are elsewhere, and well", Instances: 2, inject: injectStockFailover,
		Topology: Topology{ReplicatedStock: true},
		TTL:      longLease,
		Apart:    map[string]string{"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside},
		Expect: []Expectation{
			{"v1", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v1.5", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v2", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v3", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v4", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v5", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v5-as-printed", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v5.5", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v6", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v7", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v7-cached", rewound, "as v7: the lock did its work, but the stock itself went back to before the sale"},
			{"v8", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v9", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v9-naive", rewound, "as v9, when an order names one product: the lock did its work, but the stock itself went back to before the sale"},
			{"v9-nodes", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v10", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v11", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v12", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v12-session", rewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v13", fencedRewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v14", fencedRewound, "the lock did its work, but the stock itself went back to before the sale"},
			{"v15", fencedRewound, "the newest token seen goes back with the stock"},
			{"v15-write-only", fencedRewound, "the newest token seen goes back with the stock"},
			{"v16", rewoundFree, "what WATCH watches has gone back to before the sale"},
			{"v17", rewoundFree, "a script is whole or not at all, but the whole can be forgotten"},
		},
	}
)
