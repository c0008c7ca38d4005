package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

// The instances of a fault scenario: the fault hits a, and the other orders go to b.
const a, b = 0, 1

// secondWait is the max wait of the second order: past the expiry of the first lease, but shorter than v5.5's renewals
// last, and than the service's limit for a write.
func (f *play) secondWait() time.Duration { return f.Load.TTL * 7 / 4 }

// RedlockNodes is the number of nodes of v6 and v9-nodes.
const RedlockNodes = 5

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
		return nodes(1, RedlockNodes)
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

// holdFirst sends the first order after the warm-up, to a, and waits until it is held with the lock.
func (f *play) holdFirst() *inFlight {
	f.warmUp()
	first := f.order(a, "anna", client.Order{Fault: "hold@before:" + f.rung.Write})
	first.waitHeld()
	return first
}

// waitQueued waits until more than before waiters are queued, or the order is answered.
func (o *inFlight) waitQueued(before int64) {
	o.waitUntil(func() bool { return o.queued() > before || o.HasEnded() })
}

// queued counts the waiters that queue at the lock server, if the rung has a queue.
func (f *play) queued() int64 {
	if !f.rung.Queue {
		return 0
	}
	n, err := f.Targets.Servers[lockServer].Queued(f.ctx)
	f.must(err)
	return n
}

// loseLock holds a at the last moment before its write, and calls fault, which may make the servers lose its lock. Then
// b sells, if it can, and a goes on.
func (f *play) loseLock(text string, fault func()) {
	first := f.order(a, "anna", f.heldOrder())
	f.waitTaken(first)
	begun := time.Now()
	fault()
	first.recordFaultOn(lockServer, begun, time.Now(), "%s", text)
	if !f.mayRefuse && !f.rung.Quorum {
		f.waitReady(b) // it may not have noticed yet that the server closed its connections
	}
	f.sellBeside(first)
}

// waitReady waits until an instance reaches its servers.
func (f *play) waitReady(at int) {
	in, bound := f.cell.Instances[at], func() time.Duration { return barrierTimeout + f.slack() }
	if !f.poll(bound, func() bool { return f.Client.Ready(f.ctx, in.URL) }) {
		f.fail("%s does not reach its servers", in.Name)
	}
}

// waitTaken waits until the order is held under its lock, or is answered if its lock may be refused.
func (f *play) waitTaken(o *inFlight) {
	if f.mayRefuse {
		o.waitHeldOrAnswered()
	} else {
		o.waitHeld()
	}
}

// afterPromotion is the max wait of an order at servers that have just failed over: a replica has to follow the new
// primary, and clients have to find it.
const afterPromotion = 10 * time.Second

// sellBeside lets b sell, if it can, while the first order is held, and then lets that go on.
func (f *play) sellBeside(first *inFlight) {
	var second client.Order
	if f.mayRefuse || f.rung.Quorum {
		second.Wait = afterPromotion
	}
	f.order(b, "bert", second).waitAnswered()
	first.finish()
}

// heldOrder returns an order that is held at the last moment before its write. A session lock is checked every 200 ms:
// its order is held before a second of work, so that its next check comes before the write.
func (f *play) heldOrder() client.Order {
	if f.rung.OnSession() {
		return client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: time.Second}
	}
	return client.Order{Fault: "hold@before:" + f.rung.Write}
}

// locks returns the replicated servers of the locks.
func (f *play) locks() *cluster.Replicated { return f.Targets.Pairs[lockServer] }

func (f *play) kill(servers []string) {
	for _, name := range servers {
		f.Targets.Servers[name].Kill()
	}
}

func (f *play) restart(servers []string) {
	for _, name := range servers {
		f.must(f.Targets.Servers[name].Restart(f.ctx))
	}
}

// here is the reason why no scenario queues the waiters of v18 and v19.
const here = "orders that wait in their instance's memory send no command, so it is unknown when they wait"
