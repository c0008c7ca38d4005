package explore

import (
	"fmt"
	"slices"
	"strings"
)

// An Expectation says which verdicts a rung breaks in a situation, under one fault of a kind, and why. It was written
// before the rung was explored. What the run contradicted is said in docs/explore.md.
type Expectation struct {
	Rung, Situation, Fault string
	Breaks                 []Verdict
	Why                    string
}

// Expect returns the expectation for a rung in a situation, under a kind of fault, "none" for no fault.
func Expect(rung, situation, fault string) (Expectation, bool) {
	i := slices.IndexFunc(expectations, func(e Expectation) bool {
		return e.Rung == rung && e.Situation == situation && e.Fault == fault
	})
	if i < 0 {
		return Expectation{}, false
	}
	return expectations[i], true
}

// expectations are those of every rung under every kind of fault, and those of the situations.
var expectations = func() (all []Expectation) {
	for _, row := range slices.Concat(table, situationTable) {
		for _, group := range row.groups {
			for _, rung := range strings.Fields(group.rungs) {
				breaks := append([]Verdict{}, group.breaks...)
				all = append(all, Expectation{rung, row.situation, row.fault, breaks, group.why})
			}
		}
	}
	return all
}()

// A row holds the expectations of all rungs under one kind of fault, in one situation.
type row struct {
	fault     string
	groups    []group
	situation string
}

// A group names rungs that come to the same for the same reason.
type group struct {
	rungs  string
	breaks []Verdict
	why    string
}

var (
	holds         = []Verdict{}
	soldTwice     = []Verdict{Stock}
	shared        = []Verdict{Exclusion}
	oversold      = []Verdict{Stock, Exclusion}
	oversoldFreed = []Verdict{Stock, Exclusion, OwnRelease}
	stuck         = []Verdict{Liveness}
	everything    = []Verdict{Stock, Exclusion, Liveness}
	stuckAndFreed = []Verdict{Stock, Exclusion, OwnRelease, Liveness}
)

// needNoFault are the rungs that break without a fault, with the same verdicts under each that adds none.
var needNoFault = []group{
	{"v0", soldTwice, "both read the same stock, then both write"},
	{"v0.5", soldTwice, "each process has a mutex of its own"},
	{"v11-two", oversold, "there is a permit for each of the two"},
	{"v5-as-printed", stuck, "the second order finds the shop sold out, and its timer creates the lock again"},
}

// leases are the rungs whose lock expires, and that know it for their own, unless a group names them before.
const leases = "v5.5 v5.7 v7 v7-cached v8 v9 v9-naive v10 v11"

var table = []row{
	{fault: "none", groups: slices.Concat(needNoFault, []group{
		{"v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 " + leases, holds,
			"without a fault the lock is held until it is released"},
		{"v16 v17", holds, "the stock is compared and written in one step"},
	})},
	{fault: "expiry", groups: slices.Concat(needNoFault, []group{
		{"v1", holds, "its key has no TTL"},
		{"v1.5 v2", oversoldFreed, "the lock expires at work, and the release deletes what is there"},
		{"v3", oversoldFreed, "the lock expires at work; also between the check of the owner and the delete"},
		{"v4", oversold, "the lock expires at work; the script deletes nothing that is another's"},
		{"v5 v6 v9-nodes v15 v15-write-only v18 v19 " + leases, holds,
			"the next timer is the renewal, which comes before the expiry"},
		{"v16 v17", holds, "there is nothing that expires"},
	})},
	{fault: "hold", groups: slices.Concat(needNoFault[:3], []group{
		{"v1", holds, "its key has no TTL: the others wait"},
		{"v1.5 v2 v3", oversoldFreed, "the write, or the delete, comes after the expiry"},
		{"v4 v5 v6 v9-nodes v15-write-only " + leases, oversold,
			"the write was checked before it was held, and comes after the expiry"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15 v18 v19", shared, "the stock refuses the older token"},
		{"v16 v17", holds, "there is no time between the check and the write"},
	})},
	{fault: "crash", groups: slices.Concat(needNoFault, []group{
		{"v1", stuck, "its key has no TTL, and nobody is left to delete it"},
		{"v1.5", stuck, "it dies between SETNX and the TTL"},
		{"v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 " + leases, holds, "the TTL ends the lease of the dead"},
		{"v16 v17", holds, "there is no lock to leave behind"},
	})},
	{fault: "lose-request", groups: slices.Concat(needNoFault, []group{
		{"v1", stuck, "its DEL is lost, and the key has no TTL"},
		{"v1.5", stuck, "its PEXPIRE is lost, and then it deletes nothing"},
		{"v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 " + leases, holds, "the TTL ends a lease whose release is lost"},
		{"v16 v17", holds, "what is lost was not written"},
	})},
	{fault: "lose-reply", groups: slices.Concat(needNoFault, []group{
		{"v1", stuck, "it does not know that it has the lock, and the key has no TTL"},
		{"v1.5", stuck, "it does not know that it has the lock, and sets no TTL"},
		{"v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 " + leases, holds, "the TTL ends a lease that nobody knows of"},
		{"v16 v17", holds, "a write whose reply is lost is not repeated"},
	})},
	{fault: "late", groups: slices.Concat(needNoFault[:3], []group{
		{"v1", everything, "a write comes after the release, a SETNX after its client has gone; the key has no TTL"},
		{"v1.5", stuckAndFreed, "a write comes after the release, a DEL after the expiry; without a PEXPIRE no TTL is set"},
		{"v2 v3", oversoldFreed, "a write comes after the release; a DEL after the expiry, when another has the lock"},
		{"v4 v5 v6 v9-nodes v15-write-only " + leases, oversold, "a write comes after the release, when another has read"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15 v18 v19", shared, "the stock refuses a late write: the next holder's token was seen when it read"},
		{"v16 v17", holds, "the stock is compared when the write arrives"},
	})},
	{fault: "drop", groups: slices.Concat(needNoFault, []group{
		{"v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v16 v17 v5.5 v5.7 v9 v9-naive v10 v11", holds,
			"it listens to no message"},
		{"v7 v7-cached v8 v18 v19", holds, "a waiter asks again when the lease that it saw has ended"},
	})},
	{fault: "give-up", groups: slices.Concat(needNoFault, []group{
		{"v1 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 " + leases, holds, "the release does not end with the order"},
		{"v1.5", stuck, "the TTL is not set when the caller goes between the two commands"},
		{"v16 v17", holds, "the write does not end with the order"},
	})},
	{fault: "node-down", groups: slices.Concat(needNoFault, []group{
		{"v1 v1.5", stuck, "its DEL, or its PEXPIRE, does not come through, and the key has no TTL"},
		{"v2 v3 v4 v5 v15 v15-write-only v18 v19 " + leases, holds, "the TTL ends a lease that cannot be released"},
		{"v6", holds, "two of three are a majority"},
		{"v9-nodes", holds, "nobody sells until the node is back"},
		{"v16 v17", holds, "it needs no lock server"},
	})},
	{fault: "node-empty", groups: slices.Concat(needNoFault[:3], []group{
		{"v1 v1.5 v2 v3", oversoldFreed, "the key is gone while its holder works, and another takes it"},
		{"v4 v5 v15-write-only " + leases, oversold, "the key is gone while its holder works, and another takes it"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15 v18 v19", shared, "the next token comes from the clock, and is higher"},
		{"v6", oversold, "the empty node votes twice, and the holder has no more than a majority"},
		{"v9-nodes", holds, "the other nodes remember the lock"},
		{"v16 v17", holds, "it needs no lock server"},
	})},
	{fault: "clock-jump", groups: slices.Concat(needNoFault[:3], []group{
		{"v1", holds, "its key has no TTL"},
		{"v1.5 v2 v3", oversoldFreed, "the lease ends early, while its holder works"},
		{"v4 v5 v15-write-only " + leases, oversold, "the lease ends early, while its holder works"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15 v18 v19", shared, "the stock refuses the older token"},
		{"v6", oversold, "the node whose clock jumps votes twice"},
		{"v9-nodes", holds, "the lease lasts on the other nodes"},
		{"v16 v17", holds, "there is nothing that expires"},
	})},
}

// situationTable holds the expectations of the situations, each for the rungs that it is about. A row has no fault, or
// a kind that the situation is of interest for.
var situationTable = []row{
	{situation: queue, fault: "none", groups: []group{
		{"v8 v18 v19", holds, "the lock goes to the head of the queue, whoever asks first when it has expired"},
	}},
	{situation: queue, fault: "crash", groups: []group{
		{"v8 v18 v19", holds, "the place of a dead waiter expires, and the next one is the head"},
	}},
	{situation: queue, fault: "late", groups: []group{
		{"v8", oversold, "a write comes after the release; a late place in the queue is swept"},
		{"v18 v19", shared, "the stock refuses a late write; a late place in the queue is swept"},
	}},
	{situation: queue, fault: "drop", groups: []group{
		{"v8 v18 v19", holds, "a waiter renews its place, and asks again"},
	}},
	{situation: queue, fault: "give-up", groups: []group{
		{"v8 v18 v19", holds, "a waiter that leaves the queue calls the next one if the lock is free"},
	}},
	{situation: nested, fault: "none", groups: []group{
		{"v7 v8", holds, "the lock knows its owner, and counts"},
		{"v7-cached", holds, "the process remembers that it has the lock"},
	}},
	{situation: nested, fault: "lose-request", groups: []group{
		{"v7 v7-cached v8", holds, "the outer release sets the count, whatever the inner one came to"},
	}},
	{situation: nested, fault: "lose-reply", groups: []group{
		{"v7 v7-cached v8", holds, "an inner acquire is undone to the count that there was before it"},
	}},
	{situation: again, fault: "none", groups: []group{
		{"v7 v8", holds, "each order has a name of its own in the lock"},
		{"v7-cached", oversold, "its caller has given the lock back, but the process remembers that it has it"},
	}},
	{situation: again, fault: "lose-request", groups: []group{
		{"v7 v8", holds, "a release that was lost is swept, and counts for no later order of its caller"},
	}},
	{situation: again, fault: "late", groups: []group{
		{"v7 v8", oversold, "a write comes after the release, when another has read; a late release removes nothing"},
	}},
	{situation: twoProducts, fault: "none", groups: []group{
		{"v9", holds, "it takes the locks in one order for all, and has none while it waits"},
		{"v9-naive", stuck, "each has the lock that the other waits for"},
	}},
	{situation: readers, fault: "none", groups: []group{
		{"v10", holds, "the writer that waits keeps new readers out by its mark, which it renews in time"},
	}},
	{situation: readers, fault: "hold", groups: []group{
		{"v10", []Verdict{Exclusion, Order}, "a held writer does not renew its mark, nor its lease: the reader gets in"},
	}},
	{situation: readers, fault: "crash", groups: []group{
		{"v10", holds, "the mark of a dead writer expires"},
	}},
	{situation: readers, fault: "give-up", groups: []group{
		{"v10", holds, "a writer that gives up removes its mark"},
	}},
}

// Surprise returns in what a cell differs from its expectation, "" if it does not or if there is none. Only bounds of
// the usual kind have expectations.
func (c Cell) Surprise() string {
	expected, ok := Expect(c.Rung, c.Situation, c.Fault)
	if !ok {
		return ""
	}
	var parts []string
	for _, v := range Verdicts {
		found := slices.ContainsFunc(c.Found, func(one Counterexample) bool { return one.Verdict == v })
		switch should := slices.Contains(expected.Breaks, v); {
		case found && !should:
			parts = append(parts, fmt.Sprintf("%s should hold: %s", v, expected.Why))
		case should && !found && c.Exhausted:
			parts = append(parts, fmt.Sprintf("%s should break: %s", v, expected.Why))
		}
	}
	return strings.Join(parts, "; ")
}
