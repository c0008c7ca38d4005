package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

var replyLost = declare(catalog.Scenario{
	Name:      "reply-lost",
	Does:      "the acquire succeeds, but its reply is lost; the lease lasts 3 s, and a fresh request has only 1 s",
	Instances: 2,
	Topology:  catalog.Topology{Links: true, OwnLocks: true},
	TTL:       3 * time.Second,
	Timeout:   300 * time.Millisecond,
	Within:    time.Second,
}, injectReplyLost,
	on("v1", stuck, "it does not know that it holds the lock, which never expires"),
	on("v12-naive", stuck, "it does not know that it inserted the row, which never expires"),
	on("v1.5", stuck, "it does not know that it holds the lock, so it never sends its EXPIRE"),
	on("v2 v3 v4 v5-as-printed", stuck,
		"it does not know that it holds the lock, so no order gets it before it expires"),
	on("v5 v5.5 v8 v9 v9-nodes v15 v15-write-only", holds,
		"it releases what it may have acquired: its token identifies its own lock"),
	on("v6", holds, "redsync releases on all nodes what it may have acquired"),
	on("v7", holds, "it restores its count from before the request"),
	on("v10", holds, "it removes its token, though no reply confirmed it"),
	on("v11", holds, "it returns its permit by its token, though no reply confirmed it"),
	on("v12", holds, "it releases what it may have acquired: the owner column identifies its own row"),
	on("v12-session", holds, "it closes the connection, which ends what it may have acquired"),
	on("v13 v14", holds, "in the same session it finds the node that bears its name, and uses or removes it"),
	needNoFault,
	takeNoLock,
)

// injectReplyLost drops the reply to a's acquire and then breaks the connection: the acquire took effect, but a does
// not know. New connections work again.
func injectReplyLost(f *play) {
	first, begun := f.acquireUnanswered((*cluster.Link).DropResponses)
	broke := time.Now()
	f.healAll()
	first.waitAnswered()
	first.recordFaultOn(network, begun, broke, "whose acquire got no reply")
	f.probes = []int{b}
}

// acquireUnanswered injects a fault into the replies for a, sends an order there, and waits until its lock is known to
// have been acquired.
func (f *play) acquireUnanswered(fault func(*cluster.Link) error) (first *inFlight, begun time.Time) {
	f.warmUp()
	before := f.keys()
	f.onLinks(a, f.lockServers(), fault)
	begun = time.Now()
	first = f.order(a, "anna", client.Order{})
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
