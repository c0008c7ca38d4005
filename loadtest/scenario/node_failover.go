package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var nodeFailover = declare(catalog.Scenario{
	Name:      "node-failover",
	Does:      "one of the nodes that granted the lock fails over to a replica that never received it",
	Instances: 2,
	Topology:  catalog.Topology{OwnLocks: true, ReplicatedNode: true},
	TTL:       longLease,
}, injectNodeFailover,
	on("v6", oversold, "the replica grants what its primary had already granted, and with two nodes that were never "+
		"asked it makes a majority"),
	on("v9-nodes", holds, "the replica grants the lock again, but the other four nodes remember it"),
	haveOneServer,
)

// injectNodeFailover lets one node fail over to a replica that does not have a's lock. If a majority is enough, two
// nodes are down when a arrives, and return once the replica is promoted.
func injectNodeFailover(f *play) {
	f.warmUp()
	pair, away, text := f.Targets.Pairs[replicatedNode], nodes(4, 5), "one of whose three nodes failed over"
	if !f.rung.Quorum {
		away, text = nil, "one of whose five nodes failed over"
	}
	f.kill(away)
	f.must(pair.PauseReplication(f.ctx))
	f.loseLock(text, func() {
		f.must(pair.FailOver(f.ctx))
		f.restart(away)
	})
}

var nodeFailoverDelayed = declare(catalog.Scenario{
	Name:      "node-failover-delayed",
	Does:      "the same, but the replica is promoted only after its primary has been down for the TTL",
	Instances: 2,
	Topology:  catalog.Topology{OwnLocks: true, ReplicatedNode: true},
	TTL:       3 * time.Second,
}, injectNodeFailoverDelayed,
	on("v6", holds, "the lease that the replica never received is over by the time it votes: no majority renewed it"),
	skipOthers("its lock is not granted by a majority of nodes, one of which could vote twice"),
)

// injectNodeFailoverDelayed does the same, but the replica is promoted only after its primary was down for a TTL. The
// work of a takes longer than that. The nodes that were down return at once, so the promotion decides when b has a
// majority.
func injectNodeFailoverDelayed(f *play) {
	f.warmUp()
	pair, away := f.Targets.Pairs[replicatedNode], nodes(4, 5)
	f.kill(away)
	f.must(pair.DelayPromotion(f.ctx, f.Load.TTL))
	f.must(pair.PauseReplication(f.ctx))
	first := f.order(a, "anna", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: 2 * f.Load.TTL})
	first.waitHeld()
	begun := time.Now()
	pair.KillPrimary()
	f.restart(away)
	second := f.order(b, "bert", client.Order{Wait: f.Load.TTL + afterPromotion})
	first.endHold()
	f.must(pair.AwaitPromotion(f.ctx))
	first.recordFaultOn(lockServer, begun, time.Now(), "one of whose three nodes failed over after %s",
		seconds(time.Since(begun)))
	first.waitAnswered()
	second.waitAnswered()
}

// replicatedNode is the one of Redlock's nodes that has a replica.
const replicatedNode = "node 3"
