package catalog

import (
	"cmp"
	"time"

	"stockapi/loadtest/history"
)

// A Scenario is one thing that happens to the system under test.
type Scenario struct {
	Name string
	// Does says in a sentence what happens.
	Does string
	// Instances is the number of stockapi processes that take part; Several leaves it to the caller.
	Instances int
	// First reports whether a first run shows it: there the article's ladder and the answers to it differ.
	First bool
	// Crowd reports whether a crowd contends and nothing goes wrong. In all other scenarios a fault comes upon single
	// orders, each of which is known to be inside.
	Crowd bool
	// Stops reports whether a process is stopped and continued, which not every system can do.
	Stops bool
	// Topology says which servers and links the scenario needs, because it injects faults there.
	Topology Topology
	// TTL is that of the locks, 0 for the usual one. Session is that of ZooKeeper's sessions, 0 for the TTL. Timeout
	// bounds an instance's wait for a server, 0 for its default. Within bounds the time until a fresh request gets
	// through, 0 for the TTL and a margin.
	TTL, Session, Timeout, Within time.Duration
	// NodeTimeout bounds the time in which one of Redlock's nodes answers, and Retry is v6's mean pause between two tries;
	// 0 for the usual ones.
	NodeTimeout, Retry time.Duration
	// AlsoJudged is a verdict that this scenario alone judges, for every rung; empty if there is none.
	AlsoJudged history.Verdict

	// Expect are the rungs that take part, in the ladder's order, each with what is expected of it.
	Expect []Expectation
	// NotApplicable are the rungs that do not take part, by number, each with the reason.
	NotApplicable map[string]string
}

// A Topology says which servers and links a scenario needs, because it injects faults there. A cluster.Site has them,
// and what the rung needs.
type Topology struct {
	// Links: each instance reaches each of its servers over its own link.
	Links bool
	// OwnLocks: a lock server, or five nodes, for this cell alone.
	OwnLocks bool
	// Ensemble: a lock of ZooKeeper's is on an ensemble of three servers, for this cell alone.
	Ensemble bool
	// ReplicatedLocks: a primary and two replicas, with a Sentinel. ReplicatedStock: with one replica. ReplicatedNode: the
	// third of five nodes of the cell's own has a replica and a Sentinel.
	ReplicatedLocks, ReplicatedStock, ReplicatedNode bool
	// OneLink: the replicas of the locks, their Sentinel and all instances but the first reach the primary over one link.
	OneLink bool
	// MinReplicas: the servers of the locks have min-replicas-to-write 1.
	MinReplicas bool
}

// Replicated reports whether the scenario needs servers that are replicated.
func (t Topology) Replicated() bool {
	return t.ReplicatedLocks || t.ReplicatedStock || t.ReplicatedNode
}

// Several stands for as many instances as were asked for, at least two.
const Several = 0

// usualLease is short, since most cells wait for its end, and long enough that a renewal at half of it is in time on a
// machine that is busy.
const usualLease = 500 * time.Millisecond

// Fault reports whether something is done to single orders. If not, a crowd contends.
func (s Scenario) Fault() bool { return !s.Crowd }

// Lease returns how long a lock lasts in a fault scenario if nobody releases it.
func (s Scenario) Lease() time.Duration {
	if s.TTL > 0 {
		return s.TTL
	}
	return usualLease
}

// SessionTimeout returns how long a session of ZooKeeper's lasts in a fault scenario after its process has died.
func (s Scenario) SessionTimeout() time.Duration { return cmp.Or(s.Session, s.Lease()) }

// An Expectation says what must be found when a rung meets a scenario, and why, in one sentence.
type Expectation struct {
	Rung    string
	Results map[history.Verdict]history.Result // one for each verdict
	Why     string
}

// Expected returns what is expected of a rung, and whether the rung takes part.
func (s Scenario) Expected(rung string) (Expectation, bool) {
	for _, e := range s.Expect {
		if e.Rung == rung {
			return e, true
		}
	}
	return Expectation{}, false
}

// A Table is the scenarios that are known.
type Table []Scenario

// Find returns the scenario of that name, and whether it is known. One that is not has its name alone.
func (t Table) Find(name string) (Scenario, bool) {
	for _, s := range t {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{Name: name}, false
}
