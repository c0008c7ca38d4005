package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

var splitVote = declare(catalog.Scenario{
	Name: "split-vote",
	Does: "three orders ask five nodes at once, and each reaches different nodes first: two, two and one; none has a " +
		"majority, and one must get in within 5 s",
	Instances:   3,
	Topology:    catalog.Topology{Links: true, OwnLocks: true},
	TTL:         longLease,
	Timeout:     4 * time.Second,
	Within:      5 * time.Second,
	NodeTimeout: 1500 * time.Millisecond,
	Retry:       time.Second,
}, injectSplitVote,
	on("v6", holds,
		"each releases what it acquired and waits for a random time, 0.5 to 1.5 times the delay, so next time one of "+
			"them comes first"),
	on("v9-nodes", holds,
		"it asks one node after another, so the vote is never split: the order that gets the first gets the rest"),
	haveOneServer,
)

// injectSplitVote lets an order on each of three instances try to acquire the lock at once. Each instance is near to
// nodes of its own: two, two and one. The links hold the requests to the other nodes until every node is taken, so that
// no order gets a majority. Later requests are only delayed. The orders are the fresh requests of the cell: one has to
// get in within its limit, and all of them in the end.
func injectSplitVote(f *play) {
	near := [][]string{nodes(1, 2), nodes(3, 4), nodes(5, 5)}
	f.warmUp()
	f.delayToOthers(near, untilHealed)
	begun := time.Now()
	var all []*inFlight
	for i := range near {
		all = append(all, f.send(i, strconv.Itoa(i+1), history.Probe, client.Order{Wait: f.cell.Limit * 6 / 5}))
	}
	taken := nodes(1, RedlockNodes)
	if !f.rung.Quorum {
		taken = near[a] // the others wait for the first node, which is a's
	}
	all[a].waitUntil(func() bool { return f.allTaken(taken) })
	split := time.Now()
	f.healAll()
	f.delayToOthers(near, farAway)
	for i, o := range all {
		if f.rung.Quorum {
			o.recordFaultOn(network, begun, split, "granted by %d of five nodes while others had the rest", len(near[i]))
		}
		o.waitAnswered()
	}
	f.gotInAfter(all, split)
}

const (
	// untilHealed delays requests for longer than any cell lasts.
	untilHealed = time.Hour
	// farAway is the delay to the nodes of others after the split vote. An order that tries that much earlier than the
	// others gets in. It is longer than the usual stalls of a busy machine, and short beside the delay between two tries.
	farAway = 150 * time.Millisecond
)

// delayToOthers delays the requests of each instance to nodes that are not near to it.
func (f *play) delayToOthers(near [][]string, by time.Duration) {
	for i := range near {
		for j := range near {
			if i != j {
				f.onLinks(i, near[j], func(l *cluster.Link) error { return l.DelayRequests(by) })
			}
		}
	}
}

// allTaken reports whether each of those nodes has a key.
func (f *play) allTaken(nodes []string) bool {
	for _, name := range nodes {
		n, err := f.Targets.Servers[name].Keys(f.ctx)
		f.must(err)
		if n == 0 {
			return false
		}
	}
	return true
}

// gotInAfter fails if an order held the lock before the vote was split, or never acquired it although another did. If
// none got in, liveness breaks.
func (f *play) gotInAfter(all []*inFlight, split time.Time) {
	var refused *inFlight
	sold := 0
	for _, o := range all {
		switch {
		case o.Op.Outcome != history.Sold:
			refused = o
		case o.Op.Lease.AcquiredAt < history.At(f.cell.Start, split):
			f.fail("order %s got in before all nodes were taken", o.ID)
		default:
			sold++
		}
	}
	if refused != nil && sold > 0 {
		f.fail("order %s never got in: %s %s", refused.ID, refused.Op.Outcome, refused.Op.Detail)
	}
}
