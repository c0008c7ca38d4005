package catalog

import "time"

// The network between the instances and their servers fails.

var cutOff = Scenario{
	Name:      "cut-off",
	Does:      "the holder loses its lock server, but not the stock: what it sends there vanishes",
	Instances: 2,
	Topology:  Topology{Links: true},
	Timeout:   300 * time.Millisecond,
	groups: all(
		on("v1", stuck, "without a TTL nobody gets in beside it, but its DEL is lost, and nobody ever will"),
		on("v12-naive", stuck, "without a TTL nobody gets in beside it, but its DELETE is lost, and nobody ever will"),
		on("v1.5 v2 v3 v4", oversold, "the lease ends at work, cut off or not"),
		on("v5 v5-as-printed", oversold, "its renewals get no answer, and nobody looks at what they returned"),
		on("v5.5 v7 v8 v9 v9-nodes v10 v11 v12 v15 v15-write-only", holds,
			"without an answer to its renewals it cancels the work before the lease can have ended"),
		on("v6", holds, "without a majority for its renewals it cancels the work before the lease can have ended"),
		on("v12-session", holds,
			"without a TTL nobody gets in beside it; it hears nothing at its next look and cancels the work, and its lock "+
				"ends when the server hears that the connection has"),
		on("v13 v14", holds, "without an answer it cancels the work before the server can have ended its session"),
		on("v16 v17", holds, "it needs no server but the stock's"),
		needNoFault,
	),
}

var replyLost = Scenario{
	Name:      "reply-lost",
	Does:      "the acquire is carried out, but its reply is lost; a fresh request has 1 s of a lease of 3 s",
	Instances: 2,
	Topology:  Topology{Links: true, OwnLocks: true},
	TTL:       3 * time.Second,
	Timeout:   300 * time.Millisecond,
	Within:    time.Second,
	groups: all(
		on("v1", stuck, "nobody knows of the lock that it has taken, and it never ends"),
		on("v12-naive", stuck, "nobody knows of the row that it has inserted, and it never ends"),
		on("v1.5", stuck, "nobody knows of the lock that it has taken, and its EXPIRE is never sent"),
		on("v2 v3 v4 v5-as-printed", stuck,
			"nobody knows of the lock that it has taken, and until the TTL ends nobody gets it"),
		on("v5 v5.5 v8 v9 v9-nodes v15 v15-write-only", holds,
			"it takes back what it may have got: by its token it knows its own lock"),
		on("v6", holds, "redsync releases on all nodes what it may have got"),
		on("v7", holds, "it sets its count back to what it was before it asked"),
		on("v10", holds, "it removes the token of which it was never told"),
		on("v11", holds, "it returns the permit of which it was never told, by its token"),
		on("v12", holds, "it takes back what it may have got: by its owner it knows its own row"),
		on("v12-session", holds, "it closes the connection, and with it ends what it may have got"),
		on("v13 v14", holds, "in the same session it finds the node of its own name, and goes on with it or removes it"),
		needNoFault,
		takeNoLock,
	),
}

var lateReply = Scenario{
	Name:      "late-reply",
	Does:      "the reply to the acquire comes when the lease is over, and a second holder is inside",
	Instances: 2,
	Topology:  Topology{Links: true, OwnLocks: true},
	Timeout:   4 * time.Second,
	groups: all(
		on("v1 v12-naive v12-session", holds, "without a TTL there is no second holder"),
		on("v1.5", holds, "until the reply to its SETNX it sends no EXPIRE, so nothing has ended"),
		on("v2 v3 v4 v5 v5-as-printed", oversold,
			"it counts on a whole lease from the moment at which it heard of it, and by then it had ended"),
		on("v5.5 v7 v8 v9 v9-nodes v10 v12 v15 v15-write-only", holds,
			"it counts from before it asked, so it knows that the lease is over when it hears of it"),
		on("v6", holds, "a node that answers so late counts as one that did not answer"),
		on("v11", holds, "it counts from before it asked, so it knows that the permit is over when it hears of it"),
		on("v13 v14", holds, "it counts from before it asked, so it knows that its session may be over when it hears of it"),
		needNoFault,
		takeNoLock,
	),
}

var redisDown = Scenario{
	Name:      "redis-down",
	Does:      "all servers are away, an order is sent to each instance, and they come back",
	Instances: 2,
	Topology:  Topology{Links: true},
	Timeout:   300 * time.Millisecond,
	groups: all(
		on("v0 v0.5 v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v6 v9 v9-nodes v10 v11 v12 v12-naive v15 "+
			"v15-write-only v16 v17", holds,
			"each order gets a clear no, and the clients connect again by themselves"),
		on("v7 v8", holds, "each order gets a clear no, and the clients connect and subscribe again by themselves"),
		on("v11-two", holds, "each order gets a clear no, and then there is one at a time"),
		on("v12-session", holds, "each order gets a clear no, and the clients connect again by themselves, in new sessions"),
		on("v13 v14", holds, "each order gets a clear no, and the clients connect again by themselves, in a new session"),
	),
}

var minorityDown = Scenario{
	Name:      "minority-down",
	Does:      "two of five Redlock nodes are away, one refusing, one silent; the leader of three ZooKeepers dies",
	Instances: 2,
	Topology:  Topology{Links: true, Ensemble: true},
	TTL:       3 * time.Second,
	Within:    1500 * time.Millisecond,
	groups: all(
		on("v6", holds, "three of five are a majority"),
		on("v13 v14", holds, "two of three are a majority: they elect a leader, and the holder's session goes on with them"),
		on("v9-nodes", stuck, "it needs all five, so one that is away stops everybody"),
		like("v14-hasty", Variant{Of: "v14"}),
		haveOneServer,
	),
}

var majorityDown = Scenario{
	Name:      "majority-down",
	Does:      "three of five Redlock nodes are away, or two of three ZooKeepers, and stay away",
	Instances: 2,
	Topology:  Topology{Links: true, Ensemble: true},
	TTL:       longLease,
	Within:    1500 * time.Millisecond,
	groups: all(
		on("v13 v14", stuck,
			"one of three is no majority: it serves nobody, so nobody gets in, neither beside the holder nor after it"),
		on("v6", stuck, "two of five are no majority: it refuses everybody, and oversells nothing"),
		on("v9-nodes", stuck, "it needs all five, so one that is away stops everybody"),
		like("v14-hasty", Variant{Of: "v14"}),
		haveOneServer,
	),
}

var quorumReturns = Scenario{
	Name: "quorum-returns",
	Does: "three of five nodes, or two of three ZooKeepers, are away while one tries; two, or one, return; a fresh " +
		"request has 1 s of a lease of 3 s",
	Instances: 2,
	Topology:  Topology{Links: true, Ensemble: true},
	TTL:       3 * time.Second,
	Within:    time.Second,
	groups: all(
		on("v6", holds, "what a failed try had got it gives back at once, so all four nodes are free"),
		on("v9-nodes", stuck, "one node is still away, and it needs all five"),
		on("v13 v14", holds,
			"without a majority no session can end: the holder still has its lock, and the next one gets it from there"),
		like("v14-hasty", Variant{Of: "v14"}),
		haveOneServer,
	),
}

var splitVote = Scenario{
	Name: "split-vote",
	Does: "three ask five nodes at once, and each reaches its own nodes first: two, two and one; nobody has a majority, " +
		"and one has to get in within 5 s",
	Instances:   3,
	Topology:    Topology{Links: true, OwnLocks: true},
	TTL:         longLease,
	Timeout:     4 * time.Second,
	Within:      5 * time.Second,
	NodeTimeout: 1500 * time.Millisecond,
	Retry:       time.Second,
	groups: all(
		on("v6", holds,
			"each gives back what it got, and waits for a random time, half of the delay to one and a half of it, so the "+
				"next time one of them comes first"),
		on("v9-nodes", holds,
			"it asks one node after the other, so the vote is never split: the order that gets the first gets the rest"),
		haveOneServer,
	),
}
