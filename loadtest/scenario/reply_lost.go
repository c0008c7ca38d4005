package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

var replyLost = declare(catalog.Scenario{
	Name:      "reply-lost",
	Does:      "the acquire is carried out, but its reply is lost; a fresh request has 1 s of a lease of 3 s",
	Instances: 2,
	Topology:  catalog.Topology{Links: true, OwnLocks: true},
	TTL:       3 * time.Second,
	Timeout:   300 * time.Millisecond,
	Within:    time.Second,
}, injectReplyLost,
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
)

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

// acquireUnanswered injects a fault into the replies for a, sends an order there, and waits until its lock is known to
// have been taken.
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
