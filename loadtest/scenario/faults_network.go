package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

// redlockNodes is the number of nodes of v6 and v9-nodes.
const redlockNodes = 5

// nodes returns the names of Redlock's nodes from number first to number last.
func nodes(first, last int) []string {
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, "node "+strconv.Itoa(i))
	}
	return names
}

// lockServers returns the names of the servers that the rung locks on.
func (f *play) lockServers() []string {
	if f.rung.OnNodes() {
		return nodes(1, redlockNodes)
	}
	return []string{lockServer}
}

// onLinks calls do for the links of an instance to those servers.
func (f *play) onLinks(at int, servers []string, do func(*cluster.Link) error) {
	for _, name := range servers {
		l := f.Targets.Links[at][name]
		if l == nil {
			f.fail("there is no link from %s to %s", f.cell.Instances[at].Name, name)
		}
		f.must(do(l))
	}
}

// onAllLinks calls do for the links of all instances to those servers.
func (f *play) onAllLinks(servers []string, do func(*cluster.Link) error) {
	for i := range f.cell.Instances {
		f.onLinks(i, servers, do)
	}
}

// healAll heals all links.
func (f *play) healAll() {
	for _, links := range f.Targets.Links {
		for _, l := range links {
			f.must(l.Heal())
		}
	}
}

// injectCutOff drops what a sends to its lock servers while it works longer than its lease lasts. Meanwhile b tries to
// sell.
func injectCutOff(f *play) {
	cut := func() { f.onLinks(a, f.lockServers(), (*cluster.Link).DropRequests) }
	f.slowWork(client.Order{}, cut, func(first *inFlight, begun time.Time) {
		first.recordFaultOn(network, begun, time.Now(), "cut off from its lock for %s under a lease of %s",
			seconds(time.Since(begun)), seconds(f.Load.TTL))
	})
	f.probes = []int{b}
	f.healAll()
}

// injectReplyLost drops the reply to a's acquire and then breaks the connection: the acquire was carried out, but a
// does not know. New connections work again.
func injectReplyLost(f *play) {
	first, begun := f.acquireUnanswered((*cluster.Link).DropResponses)
	broke := time.Now()
	f.healAll()
	first.waitAnswered()
	first.recordFaultOn(network, begun, broke, "never told that it had the lock")
	f.probes = []int{b}
}

// injectLateReply delays the reply to a's acquire until b holds the lock or has given up.
func injectLateReply(f *play) {
	first, begun := f.acquireUnanswered((*cluster.Link).DelayResponses)
	second := f.order(b, "2", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	second.waitHeldOrAnswered()
	first.recordFaultOn(network, begun, time.Now(), "told only after %s that it had a lease of %s",
		seconds(time.Since(begun)), seconds(f.Load.TTL))
	f.healAll()
	first.waitAnswered()
	second.finish()
}

// acquireUnanswered injects a fault into the replies for a, sends an order there, and waits until its lock is known to
// have been taken.
func (f *play) acquireUnanswered(fault func(*cluster.Link) error) (first *inFlight, begun time.Time) {
	f.warmUp()
	before := f.keys()
	f.onLinks(a, f.lockServers(), fault)
	begun = time.Now()
	first = f.order(a, "1", client.Order{})
	first.waitUntil(func() bool { return f.keys() > before })
	return first, begun
}

// keys counts the keys on all lock servers of the rung.
func (f *play) keys() (sum int64) {
	for _, name := range f.lockServers() {
		n, err := f.Targets.Servers[name].Keys(f.ctx)
		f.must(err)
		sum += n
	}
	return sum
}

// injectRedisDown cuts both instances off from all servers, sends an order to each, and heals the links.
func injectRedisDown(f *play) {
	f.warmUp()
	f.onAllLinks(append(f.lockServers(), stockServer), (*cluster.Link).Cut)
	for i, in := range f.cell.Instances {
		begun := time.Now()
		for f.Client.Ready(f.ctx, in.URL) && time.Since(begun) < barrierTimeout+f.slack() {
			continue // until it has noticed: the outcome of a command on a connection that is being closed would be unknown
		}
		o := f.order(i, strconv.Itoa(i+1), client.Order{})
		o.waitAnswered()
		o.recordFaultOn(network, begun, time.Now(), "without any server")
	}
	f.healAll()
}

// minorityWait bounds the wait of orders for a lock of which a minority is away.
const minorityWait = 2 * time.Second

// injectMinorityDown takes two nodes of five away: one refuses, and one is silent. Order 1 on a works, and b waits for
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
	first := f.order(a, "1", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: minorityWait})
	first.waitHeldOrAnswered()
	second := f.order(b, "2", client.Order{Wait: minorityWait})
	first.finish()
	second.waitAnswered()
	first.recordFaultOn(network, begun, time.Now(), "with two nodes of five away")
}

// injectMajorityDown takes three nodes of five away for good.
func injectMajorityDown(f *play) {
	if f.rung.OnZooKeeper() {
		f.loseEnsemble()
		return
	}
	first, begun := f.withoutQuorum()
	first.recordFaultOn(network, begun, time.Now(), "with three nodes of five away")
}

// injectQuorumReturns takes three nodes of five away, and heals two of them. A fresh request now needs the nodes that
// stayed up, and what a failed acquire left on them would be in its way.
func injectQuorumReturns(f *play) {
	if f.rung.OnZooKeeper() {
		f.ensembleReturns()
		return
	}
	first, begun := f.withoutQuorum()
	first.recordFaultOn(network, begun, time.Now(), "with three nodes of five away")
	f.probes = []int{b}
	f.onAllLinks(nodes(1, 2), (*cluster.Link).Heal)
}

// withoutQuorum takes three nodes of five away from both instances, and sends an order to a.
func (f *play) withoutQuorum() (first *inFlight, begun time.Time) {
	f.warmUp()
	begun = time.Now()
	f.onAllLinks(nodes(1, 2), (*cluster.Link).Cut)
	f.onAllLinks(nodes(3, 3), (*cluster.Link).DropRequests)
	first = f.order(a, "1", client.Order{})
	first.waitAnswered()
	return first, begun
}
