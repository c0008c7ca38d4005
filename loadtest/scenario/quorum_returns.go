package scenario

import (
	"fmt"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

var quorumReturns = declare(catalog.Scenario{
	Name: "quorum-returns",
	Does: "three of five nodes, or two of three ZooKeeper servers, are down while an order tries; two, or one, return; " +
		"the lease lasts 3 s, and a fresh request has 1 s to get through",
	Instances: 2,
	Topology:  catalog.Topology{Links: true, Ensemble: true},
	TTL:       3 * time.Second,
	Within:    time.Second,
}, injectQuorumReturns,
	on("v6", holds, "a failed attempt releases at once what it acquired, so all four nodes are free"),
	on("v9-nodes", stuck, "one node is still away, and it needs all five"),
	on("v13 v14", holds,
		"without a majority no session can end: the holder still has its lock, and the next one gets it from the holder"),
	haveOneServer,
)

// injectQuorumReturns takes three of five nodes down, and heals two of them. A fresh request now needs the nodes that
// stayed up, and keys that a failed acquire left on them would block it.
func injectQuorumReturns(f *play) {
	if f.rung.OnZooKeeper() {
		f.ensembleReturns()
		return
	}
	first, begun := f.withoutQuorum()
	first.recordFaultOn(network, begun, time.Now(), "with three of five nodes down")
	f.probes = []int{b}
	f.onAllLinks(nodes(1, 2), (*cluster.Link).Heal)
}

// ensembleReturns is quorum-returns for an ensemble of three: one of the two servers that died returns. The next order
// on b waits behind a, which still holds its lock.
func (f *play) ensembleReturns() {
	first, begun, dead := f.withoutMajority()
	f.must(dead.Restart(f.ctx))
	first.recordFaultOn(lockServer, begun, time.Now(), "with two of three servers down")
	f.probes = []int{b}
	f.serveBehind(first)
}

// serveBehind sends orders to b until one waits for the lock, which the first order holds: earlier ones find no server
// yet. Then both go on.
func (f *play) serveBehind(first *inFlight) {
	next, held := (*inFlight)(nil), false
	first.waitUntil(func() bool {
		next = f.order(b, fmt.Sprintf("next-%d", len(f.orders)), client.Order{
			Fault: "hold@after:" + f.rung.Taken, Wait: ensembleWait,
		})
		held = next.waitHeldOrAnswered()
		return held || next.Op.Outcome != history.NotSold
	})
	if held {
		next.endHold()
	}
	first.finish()
	next.waitAnswered()
}

// ensembleWait bounds the wait of an order for a lock whose holder has to find its servers again.
const ensembleWait = 10 * time.Second
