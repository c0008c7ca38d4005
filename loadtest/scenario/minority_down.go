package scenario

import (
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

var minorityDown = declare(catalog.Scenario{
	Name:      "minority-down",
	Does:      "two of five Redlock nodes are down, one refusing, one silent; the leader of three ZooKeeper servers dies",
	Instances: 2,
	Topology:  catalog.Topology{Links: true, Ensemble: true},
	TTL:       3 * time.Second,
	Within:    1500 * time.Millisecond,
}, injectMinorityDown,
	on("v6", holds, "three of five are a majority"),
	on("v13 v14", holds, "two of three are a majority: they elect a leader, and the holder's session goes on with them"),
	on("v9-nodes", stuck, "it needs all five, so one that is down stops all orders"),
	haveOneServer,
)

// injectMinorityDown takes two of five nodes down: one refuses, and one is silent. Order 1 on a works, and b waits for
// the lock.
func injectMinorityDown(f *play) {
	if f.rung.OnZooKeeper() {
		f.loseLeader()
		return
	}
	f.warmUp()
	begun := time.Now()
	f.onAllLinks(nodes(1, 1), (*cluster.Link).Cut)
	f.onAllLinks(nodes(2, 2), (*cluster.Link).DropRequests)
	first := f.order(a, "anna", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: minorityWait})
	first.waitHeldOrAnswered()
	second := f.order(b, "bert", client.Order{Wait: minorityWait})
	first.finish()
	second.waitAnswered()
	first.recordFaultOn(network, begun, time.Now(), "with two of five nodes down")
}

// minorityWait bounds the wait of orders for a lock with a minority of its servers down.
const minorityWait = 2 * time.Second

// loseLeader is minority-down for an ensemble of three: its leader dies while a holds the lock. The other two elect a
// leader, and the holder goes on in its session. The next order on b waits behind it.
func (f *play) loseLeader() {
	first := f.holdFirst()
	begun := time.Now()
	others := f.killLeader()
	f.waitElected(first, others)
	f.serveBehind(first)
	first.recordFaultOn(lockServer, begun, time.Now(), "whose ensemble of three lost its leader")
	if first.Op.Outcome != history.Sold {
		f.fail("order %s lost its lock with one server of three: %s", first.ID, first.Op.Detail)
	}
}

// waitElected waits until one of these servers is the leader.
func (f *play) waitElected(o *inFlight, servers []*cluster.ZooKeeper) {
	o.waitUntil(func() bool {
		return slices.ContainsFunc(servers, func(m *cluster.ZooKeeper) bool {
			leads, err := m.Leads(f.ctx)
			return leads && err == nil
		})
	})
}
