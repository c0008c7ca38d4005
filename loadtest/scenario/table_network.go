package scenario

import (
	"slices"
	"time"
)

// oneServer is why rungs with one server have no part in what happens to some of its nodes.
var oneServer = apartFrom([]string{"v6", "v9-nodes"}, "its lock does not lie on several nodes")

func apartFrom(rungs []string, why string) map[string]string {
	apart := map[string]string{}
	for _, r := range Rungs {
		if !slices.Contains(rungs, r.Number) {
			apart[r.Number] = why
		}
	}
	return apart
}

// What happens to the network between the instances and their servers.
var (
	cutOff = Scenario{
		Name: "cut-off", Does: "the holder loses its lock server, but not the stock: what it sends there vanishes", Instances: 2, inject: injectCutOff,
		Topology: Topology{Links: true},
		Timeout:  300 * time.Millisecond,
		Apart:    map[string]string{"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside},
		Expect: []Expectation{
			{"v1", stuck, "without a TTL nobody gets in beside it, but its DEL is lost, and nobody ever will"},
			{"v1.5", oversold, "the lease ends at work, cut off or not"},
			{"v2", oversold, "the lease ends at work, cut off or not"},
			{"v3", oversold, "the lease ends at work, cut off or not"},
			{"v4", oversold, "the lease ends at work, cut off or not"},
			{"v5", oversold, "its renewals get no answer, and nobody looks at what they returned"},
			{"v5-as-printed", oversold, "its renewals get no answer, and nobody looks at what they returned"},
			{"v5.5", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v6", leaseHolds, "without a majority for its renewals it cancels the work before the lease can have ended"},
			{"v7", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v7-cached", leaseHolds, "as v7: without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v8", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v9", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v9-naive", leaseHolds, "as v9, when an order names one product: without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v9-nodes", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v10", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v11", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v12", leaseHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v12-session", leaseHolds, "without a TTL nobody gets in beside it; it hears nothing at its next look and cancels the work, and its lock ends when the server hears that the connection has"},
			{"v13", fenceHolds, "without an answer it cancels the work before the server can have ended its session"},
			{"v14", fenceHolds, "without an answer it cancels the work before the server can have ended its session"},
			{"v15", fenceHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v15-write-only", fenceHolds, "without an answer to its renewals it cancels the work before the lease can have ended"},
			{"v16", lockFree, "it needs no server but the stock's"},
			{"v17", lockFree, "it needs no server but the stock's"},
		},
	}
	replyLost = Scenario{
		Name: "reply-lost", Does: "the acquire is carried out, but its reply is lost; a fresh request has 1 s of a lease of 3 s", Instances: 2, inject: injectReplyLost,
		Topology: Topology{Links: true, OwnLocks: true},
		TTL:      3 * time.Second,
		Timeout:  300 * time.Millisecond,
		Within:   time.Second,
		Apart: map[string]string{
			"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside, "v16": noLease, "v17": noLease,
		},
		Expect: []Expectation{
			{"v1", stuck, "nobody knows of the lock that it has taken, and it never ends"},
			{"v1.5", stuck, "nobody knows of the lock that it has taken, and its EXPIRE is never sent"},
			{"v2", stuck, "nobody knows of the lock that it has taken, and until the TTL ends nobody gets it"},
			{"v3", stuck, "nobody knows of the lock that it has taken, and until the TTL ends nobody gets it"},
			{"v4", stuck, "nobody knows of the lock that it has taken, and until the TTL ends nobody gets it"},
			{"v5", leaseHolds, "it takes back what it may have got: by its token it knows its own lock"},
			{"v5-as-printed", stuck, "nobody knows of the lock that it has taken, and until the TTL ends nobody gets it"},
			{"v5.5", leaseHolds, "it takes back what it may have got: by its token it knows its own lock"},
			{"v6", leaseHolds, "redsync releases on all nodes what it may have got"},
			{"v7", leaseHolds, "it sets its count back to what it was before it asked"},
			{"v7-cached", leaseHolds, "as v7: it sets its count back to what it was before it asked"},
			{"v8", leaseHolds, "it takes back what it may have got: by its token it knows its own lock"},
			{"v9", leaseHolds, "it takes back what it may have got: by its token it knows its own lock"},
			{"v9-naive", leaseHolds, "as v9, when an order names one product: it takes back what it may have got: by its token it knows its own lock"},
			{"v9-nodes", leaseHolds, "it takes back what it may have got: by its token it knows its own lock"},
			{"v10", leaseHolds, "it removes the token of which it was never told"},
			{"v11", leaseHolds, "it returns the permit of which it was never told, by its token"},
			{"v12", leaseHolds, "it takes back what it may have got: by its owner it knows its own row"},
			{"v12-session", leaseHolds, "it closes the connection, and with it ends what it may have got"},
			{"v13", fenceHolds, "in the same session it finds the node of its own name, and goes on with it or removes it"},
			{"v14", fenceHolds, "in the same session it finds the node of its own name, and goes on with it or removes it"},
			{"v15", fenceHolds, "it takes back what it may have got: by its token it knows its own lock"},
			{"v15-write-only", fenceHolds, "it takes back what it may have got: by its token it knows its own lock"},
		},
	}
	lateReply = Scenario{
		Name: "late-reply", Does: "the reply to the acquire comes when the lease is over, and a second holder is inside", Instances: 2, inject: injectLateReply,
		Topology: Topology{Links: true, OwnLocks: true},
		Timeout:  4 * time.Second,
		Apart: map[string]string{
			"v0": unguarded, "v0.5": inMemory, "v11-two": twoInside, "v16": noLease, "v17": noLease,
		},
		Expect: []Expectation{
			{"v1", leaseHolds, "without a TTL there is no second holder"},
			{"v1.5", leaseHolds, "until the reply to its SETNX it sends no EXPIRE, so nothing has ended"},
			{"v2", oversold, "it counts on a whole lease from the moment at which it heard of it, and by then it had ended"},
			{"v3", oversold, "it counts on a whole lease from the moment at which it heard of it, and by then it had ended"},
			{"v4", oversold, "it counts on a whole lease from the moment at which it heard of it, and by then it had ended"},
			{"v5", oversold, "it counts on a whole lease from the moment at which it heard of it, and by then it had ended"},
			{"v5-as-printed", oversold, "it counts on a whole lease from the moment at which it heard of it, and by then it had ended"},
			{"v5.5", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v6", leaseHolds, "a node that answers so late counts as one that did not answer"},
			{"v7", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v7-cached", leaseHolds, "as v7: it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v8", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v9", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v9-naive", leaseHolds, "as v9, when an order names one product: it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v9-nodes", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v10", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v11", leaseHolds, "it counts from before it asked, so it knows that the permit is over when it hears of it"},
			{"v12", leaseHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v12-session", leaseHolds, "without a TTL there is no second holder"},
			{"v13", fenceHolds, "it counts from before it asked, so it knows that its session may be over when it hears of it"},
			{"v14", fenceHolds, "it counts from before it asked, so it knows that its session may be over when it hears of it"},
			{"v15", fenceHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
			{"v15-write-only", fenceHolds, "it counts from before it asked, so it knows that the lease is over when it hears of it"},
		},
	}
	redisDown = Scenario{
		Name: "redis-down", Does: "all servers are away, an order is sent to each instance, and they come back", Instances: 2, inject: injectRedisDown,
		Topology: Topology{Links: true},
		Timeout:  300 * time.Millisecond,
		Expect: []Expectation{
			{"v0", lockFree, "each order gets a clear no, and the clients connect again by themselves"},
			{"v0.5", localHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v1", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v1.5", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v2", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v3", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v4", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v5", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v5-as-printed", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v5.5", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v6", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v7", leaseHolds, "each order gets a clear no, and the clients connect and subscribe again by themselves"},
			{"v7-cached", leaseHolds, "as v7: each order gets a clear no, and the clients connect and subscribe again by themselves"},
			{"v8", leaseHolds, "each order gets a clear no, and the clients connect and subscribe again by themselves"},
			{"v9", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v9-naive", leaseHolds, "as v9, when an order names one product: each order gets a clear no, and the clients connect again by themselves"},
			{"v9-nodes", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v10", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v11", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v11-two", leaseHolds, "each order gets a clear no, and then there is one at a time"},
			{"v12", leaseHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v12-session", leaseHolds, "each order gets a clear no, and the clients connect again by themselves, in new sessions"},
			{"v13", fenceHolds, "each order gets a clear no, and the clients connect again by themselves, in a new session"},
			{"v14", fenceHolds, "each order gets a clear no, and the clients connect again by themselves, in a new session"},
			{"v15", fenceHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v15-write-only", fenceHolds, "each order gets a clear no, and the clients connect again by themselves"},
			{"v16", lockFree, "each order gets a clear no, and the clients connect again by themselves"},
			{"v17", lockFree, "each order gets a clear no, and the clients connect again by themselves"},
		},
	}
	minorityDown = Scenario{
		Name: "minority-down", Does: "two of five Redlock nodes are away, one refusing, one silent", Instances: 2, inject: injectMinorityDown,
		Topology: Topology{Links: true},
		Apart:    oneServer,
		Expect: []Expectation{
			{"v6", leaseHolds, "three of five are a majority"},
			{"v9-nodes", stuck, "it needs all five, so one that is away stops everybody"},
		},
	}
	majorityDown = Scenario{
		Name: "majority-down", Does: "three of five Redlock nodes are away, and stay away", Instances: 2, inject: injectMajorityDown,
		Topology: Topology{Links: true},
		Apart:    oneServer,
		Expect: []Expectation{
			{"v6", stuck, "two of five are no majority: it refuses everybody, and oversells nothing"},
			{"v9-nodes", stuck, "it needs all five, so one that is away stops everybody"},
		},
	}
	quorumReturns = Scenario{
		Name: "quorum-returns", Does: "three of five nodes are away while one tries; two return; a fresh request has 1 s of a lease of 3 s", Instances: 2, inject: injectQuorumReturns,
		Topology: Topology{Links: true},
		TTL:      3 * time.Second,
		Within:   time.Second,
		Apart:    oneServer,
		Expect: []Expectation{
			{"v6", leaseHolds, "what a failed try had got it gives back at once, so all four nodes are free"},
			{"v9-nodes", stuck, "one node is still away, and it needs all five"},
		},
	}
)
