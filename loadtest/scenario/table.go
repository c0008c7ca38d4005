package scenario

import (
	"slices"
	"time"

	"stockapi/loadtest/catalog"
)

// scenarios lists all scenarios in the order in which they run: contention first, and in it the rung that is sure to
// break.
var scenarios = []scenario{
	oneInstance, twoInstances,
	crash, slowWork, explicitLease, lateRelease, checkDeleteGap, pause, pauseAtWork, hungHolder, soldOutRestock,
	writeOnlyFence, nested, queueOrder, herd, waiterDies, oppositeOrder, readersAndWriter,
	cutOff, replyLost, lateReply, redisDown, minorityDown, majorityDown, quorumReturns, splitVote,
	nodeRestart, delayedRestart, clockJump, failover, failoverLagging, nodeFailover, nodeFailoverDelayed,
	splitBrain, splitBrainMinReplicas, splitBrainInLag, stockFailover,
}

// A scenario is declared by one file: its facts, with the expectation of each rung, and the injection of its fault.
type scenario struct {
	catalog.Scenario
	inject func(*play) // nil if there is no fault
}

// declare joins the facts of a scenario with the expectations of its groups and with its injection.
func declare(facts catalog.Scenario, inject func(*play), parts ...catalog.Groups) scenario {
	return scenario{facts.Expecting(parts...), inject}
}

// Table has the facts of every scenario.
var Table = tableOf(scenarios)

func tableOf(all []scenario) (t catalog.Table) {
	for _, s := range all {
		t = append(t, s.Scenario)
	}
	return t
}

// injectionOf returns the injection of the scenario with this name.
func injectionOf(name string) func(*play) {
	return scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.Name == name })].inject
}

const (
	// renewedLease is for scenarios that depend on a renewal in time. Redlock's are late on a busy machine, since a node
	// has 50 ms to answer.
	renewedLease = time.Second
	// longLease is for faults of servers: no lease expires, and none is renewed, during the fault.
	longLease = 30 * time.Second
)
