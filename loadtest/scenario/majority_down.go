package scenario

import (
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

var majorityDown = declare(catalog.Scenario{
	Name:      "majority-down",
	Does:      "three of five Redlock nodes, or two of three ZooKeeper servers, go down and stay down",
	Instances: 2,
	Topology:  catalog.Topology{Links: true, Ensemble: true},
	TTL:       longLease,
	Within:    1500 * time.Millisecond,
}, injectMajorityDown,
	on("v13 v14", stuck,
		"one of three is no majority: it serves no request, so no order gets in, neither beside the holder nor after it"),
	on("v6", stuck, "two of five are no majority: it refuses all orders, and oversells nothing"),
	on("v9-nodes", stuck, "it needs all five, so one that is down stops all orders"),
	haveOneServer,
)

// injectMajorityDown takes three of five nodes down for good.
func injectMajorityDown(f *play) {
	if f.rung.OnZooKeeper() {
		f.loseEnsemble()
		return
	}
	first, begun := f.withoutQuorum()
	first.recordFaultOn(network, begun, time.Now(), "with three of five nodes down")
}

// withoutQuorum takes three of five nodes down for both instances, and sends an order to a.
func (f *play) withoutQuorum() (first *inFlight, begun time.Time) {
	f.warmUp()
	begun = time.Now()
	f.onAllLinks(nodes(1, 2), (*cluster.Link).Cut)
	f.onAllLinks(nodes(3, 3), (*cluster.Link).DropRequests)
	first = f.order(a, "anna", client.Order{})
	first.waitAnswered()
	return first, begun
}

// loseEnsemble is majority-down for an ensemble of three: two servers die for good while a holds the lock.
func (f *play) loseEnsemble() {
	first, begun, _ := f.withoutMajority()
	first.finish()
	first.recordFaultOn(lockServer, begun, time.Now(), "with two of three servers down")
}

// withoutMajority kills two servers of three while a holds the lock, and has an order on b fail to acquire it. It
// returns one of the dead servers.
func (f *play) withoutMajority() (first *inFlight, begun time.Time, dead *cluster.ZooKeeper) {
	first, begun = f.holdFirst(), time.Now()
	others := f.killLeader()
	dead = others[0]
	dead.Kill()
	first.waitUntil(func() bool {
		_, failed := others[1].Leads(f.ctx)
		return failed != nil
	})
	f.order(b, "bert", client.Order{}).waitAnswered()
	return first, begun, dead
}

// killLeader kills the leader of the ensemble, and returns the others.
func (f *play) killLeader() (others []*cluster.ZooKeeper) {
	servers := f.Targets.Ensemble
	for i, m := range servers {
		leads, err := m.Leads(f.ctx)
		f.must(err)
		if leads {
			m.Kill()
			return slices.Delete(slices.Clone(servers), i, i+1)
		}
	}
	f.fail("no server of the ensemble leads")
	return nil
}
