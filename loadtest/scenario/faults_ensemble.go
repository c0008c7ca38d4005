package scenario

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

// ensembleWait bounds the wait of an order for a lock whose holder has to find its servers again.
const ensembleWait = 10 * time.Second

// loseLeader is minority-down for an ensemble of three: its leader dies while a holds the lock. The other two elect a
// leader, and the holder goes on in its session. The next order on b waits behind it.
func (f *play) loseLeader() {
	first := f.holdFirst()
	begun := time.Now()
	others := f.killLeader()
	f.waitElected(first, others)
	f.serveBehind(first)
	first.recordFaultOn(lockServer, begun, time.Now(), "whose ensemble lost its leader, one server of three")
	if first.op.Outcome != history.Sold {
		f.fail("order %s lost its lock with one server of three: %s", first.ID, first.op.Detail)
	}
}

// loseEnsemble is majority-down for an ensemble of three: two servers die for good while a holds the lock.
func (f *play) loseEnsemble() {
	first, begun, _ := f.withoutMajority()
	first.finish()
	first.recordFaultOn(lockServer, begun, time.Now(), "with two of three servers away")
}

// ensembleReturns is quorum-returns for an ensemble of three: one of the two servers that died returns. The next order
// on b waits behind a, which still has its lock.
func (f *play) ensembleReturns() {
	first, begun, dead := f.withoutMajority()
	f.must(dead.Restart(f.ctx))
	first.recordFaultOn(lockServer, begun, time.Now(), "with two of three servers away")
	f.probes = []int{b}
	f.serveBehind(first)
}

// withoutMajority kills two servers of three while a holds the lock, and lets an order on b ask for it in vain. It
// returns one of the dead.
func (f *play) withoutMajority() (first *inFlight, begun time.Time, dead *cluster.ZooKeeper) {
	first, begun = f.holdFirst(), time.Now()
	others := f.killLeader()
	dead = others[0]
	dead.Kill()
	first.waitUntil(func() bool {
		_, failed := others[1].Leads(f.ctx)
		return failed != nil
	})
	f.order(b, "2", client.Order{}).waitAnswered()
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

// waitElected waits until one of these servers leads the others.
func (f *play) waitElected(o *inFlight, servers []*cluster.ZooKeeper) {
	o.waitUntil(func() bool {
		return slices.ContainsFunc(servers, func(m *cluster.ZooKeeper) bool {
			leads, err := m.Leads(f.ctx)
			return leads && err == nil
		})
	})
}

// serveBehind sends orders to b until one waits for the lock, which the first order holds. Those before it have found
// no server yet. Then both go on.
func (f *play) serveBehind(first *inFlight) {
	next, held := (*inFlight)(nil), false
	first.waitUntil(func() bool {
		next = f.order(b, fmt.Sprintf("next-%d", len(f.orders)), client.Order{
			Fault: "hold@after:" + f.rung.Taken, Wait: ensembleWait,
		})
		held = next.waitHeldOrAnswered()
		return held || next.op.Outcome != history.NotSold
	})
	if held {
		next.endHold()
	}
	first.finish()
	next.waitAnswered()
}
