package catalog

import (
	"cmp"
	"time"

	"stockapi/loadtest/history"
)

// A Scenario is one thing that happens to the system under test.
type Scenario struct {
	Name string
	// Does describes what happens, in a sentence.
	Does string
	// Instances is the number of stockapi processes; Several leaves it to the caller.
	Instances int
	// First reports whether a first run includes it, since it separates the article's ladder from the answers to it.
	First bool
	// Crowd reports whether a crowd contends without a fault. In all other scenarios a fault is injected into single
	// orders, each of which is known to hold the lock.
	Crowd bool
	// Stops reports whether a process is stopped and resumed, which not every system can do.
	Stops bool
	// Topology is the servers and links that the scenario needs for its faults.
	Topology Topology
	// TTL is the locks' TTL, 0 for the usual one. Session is the timeout of ZooKeeper sessions, 0 for the TTL. Timeout
	// bounds an instance's wait for a server, 0 for its default. Within bounds the time until a fresh request gets
	// through, 0 for the TTL and a margin.
	TTL, Session, Timeout, Within time.Duration
	// NodeTimeout bounds the wait for a Redlock node, and Retry is v6's mean pause between two tries; 0 for the usual
	// ones.
	NodeTimeout, Retry time.Duration
	// AlsoJudged is a verdict that this scenario alone judges, for every rung; empty if there is none.
	AlsoJudged history.Verdict

	// Expect are the rungs that take part, in the ladder's order, each with its expectation.
	Expect []Expectation
	// NotApplicable are the rungs that do not take part, by number, each with the reason.
	NotApplicable map[string]string
}

// A Topology is the servers and links that a scenario needs for its faults. A cluster.Site adds the servers that the
// rung needs.
type Topology struct {
	// Links: each instance reaches each of its servers over its own link.
	Links bool
	// OwnLocks: a lock server, or five nodes, for this cell alone.
	OwnLocks bool
	// Ensemble: a ZooKeeper lock is on an ensemble of three servers, for this cell alone.
	Ensemble bool
	// ReplicatedLocks: a primary and two replicas, with a Sentinel. ReplicatedStock: the same with one replica.
	// ReplicatedNode: the third of the cell's own five nodes has a replica and a Sentinel.
	ReplicatedLocks, ReplicatedStock, ReplicatedNode bool
	// OneLink: the replicas of the locks, their Sentinel and all instances but the first reach the primary over one link.
	OneLink bool
	// MinReplicas: the servers of the locks have min-replicas-to-write 1.
	MinReplicas bool
}

// Replicated reports whether the scenario needs replicated servers.
func (t Topology) Replicated() bool {
	return t.ReplicatedLocks || t.ReplicatedStock || t.ReplicatedNode
}

// Several stands for the number of instances that the caller asks for, at least two.
const Several = 0

// usualLease is short, since most cells wait for its expiry, yet long enough for a renewal halfway to be in time on a
// busy machine.
const usualLease = 500 * time.Millisecond

// Fault reports whether faults are injected into single orders. If not, a crowd contends.
func (s Scenario) Fault() bool { return !s.Crowd }

// Lease returns how long a lock lasts in a fault scenario unless it is released.
func (s Scenario) Lease() time.Duration {
	if s.TTL > 0 {
		return s.TTL
	}
	return usualLease
}

// SessionTimeout returns how long a ZooKeeper session outlives its process in a fault scenario.
func (s Scenario) SessionTimeout() time.Duration { return cmp.Or(s.Session, s.Lease()) }

// An Expectation is the result of each verdict on a rung in a scenario, and why, in one sentence.
type Expectation struct {
	Rung    string
	Results map[history.Verdict]history.Result // one for each verdict
	Why     string
}

// Expected returns the expectation of a rung, and whether the rung takes part.
func (s Scenario) Expected(rung string) (Expectation, bool) {
	for _, e := range s.Expect {
		if e.Rung == rung {
			return e, true
		}
	}
	return Expectation{}, false
}

// A Table lists the known scenarios.
type Table []Scenario

// Find returns the scenario with this name, and whether it is known. An unknown one has only its name.
func (t Table) Find(name string) (Scenario, bool) {
	for _, s := range t {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{Name: name}, false
}
