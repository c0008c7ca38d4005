package explore

import (
	"fmt"
	"slices"
	"strings"
)

// An Expectation says which verdicts a rung breaks under one fault of a kind, and why. It was written before the rung
// was explored. What the run contradicted is said in docs/explore.md.
type Expectation struct {
	Rung, Fault string
	Breaks      []Verdict
	Why         string
}

// Expect returns the expectation for a rung and a kind of fault, "none" for no fault.
func Expect(rung, fault string) (Expectation, bool) {
	i := slices.IndexFunc(expectations, func(e Expectation) bool { return e.Rung == rung && e.Fault == fault })
	if i < 0 {
		return Expectation{}, false
	}
	return expectations[i], true
}

// expectations are those of every rung under every kind of fault.
var expectations = func() (all []Expectation) {
	for _, row := range table {
		for _, group := range row.groups {
			for _, rung := range strings.Fields(group.rungs) {
				breaks := append([]Verdict{}, group.breaks...)
				all = append(all, Expectation{rung, row.fault, breaks, group.why})
			}
		}
	}
	return all
}()

// A row is what a kind of fault does to all rungs.
type row struct {
	fault  string
	groups []group
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
	{"none", slices.Concat(needNoFault, []group{
		{"v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only " + leases, holds,
			"without a fault the lock is held until it is released"},
		{"v16 v17", holds, "the stock is compared and written in one step"},
	})},
	{"expiry", slices.Concat(needNoFault, []group{
		{"v1", holds, "its key has no TTL"},
		{"v1.5 v2", oversoldFreed, "the lock expires at work, and the release deletes what is there"},
		{"v3", oversoldFreed, "the lock expires at work; also between the check of the owner and the delete"},
		{"v4", oversold, "the lock expires at work; the script deletes nothing that is another's"},
		{"v5 v6 v9-nodes v15 v15-write-only " + leases, holds,
			"the next timer is the renewal, which comes before the expiry"},
		{"v16 v17", holds, "there is nothing that expires"},
	})},
	{"hold", slices.Concat(needNoFault[:3], []group{
		{"v1", holds, "its key has no TTL: the others wait"},
		{"v1.5 v2 v3", oversoldFreed, "the write, or the delete, comes after the expiry"},
		{"v4 v5 v6 v9-nodes v15-write-only " + leases, oversold,
			"the write was checked before it was held, and comes after the expiry"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15", shared, "the stock refuses the older token"},
		{"v16 v17", holds, "there is no time between the check and the write"},
	})},
	{"crash", slices.Concat(needNoFault, []group{
		{"v1", stuck, "its key has no TTL, and nobody is left to delete it"},
		{"v1.5", stuck, "it dies between SETNX and the TTL"},
		{"v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only " + leases, holds, "the TTL ends the lease of the dead"},
		{"v16 v17", holds, "there is no lock to leave behind"},
	})},
	{"lose-request", slices.Concat(needNoFault, []group{
		{"v1", stuck, "its DEL is lost, and the key has no TTL"},
		{"v1.5", stuck, "its PEXPIRE is lost, and then it deletes nothing"},
		{"v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only " + leases, holds, "the TTL ends a lease whose release is lost"},
		{"v16 v17", holds, "what is lost was not written"},
	})},
	{"lose-reply", slices.Concat(needNoFault, []group{
		{"v1", stuck, "it does not know that it has the lock, and the key has no TTL"},
		{"v1.5", stuck, "it does not know that it has the lock, and sets no TTL"},
		{"v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only " + leases, holds, "the TTL ends a lease that nobody knows of"},
		{"v16 v17", holds, "a write whose reply is lost is not repeated"},
	})},
	{"drop", slices.Concat(needNoFault, []group{
		{"v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v16 v17 v5.5 v5.7 v9 v9-naive v10 v11", holds,
			"it listens to no message"},
		{"v7 v7-cached v8", holds, "a waiter asks again when the lease that it saw has ended"},
	})},
	{"give-up", slices.Concat(needNoFault, []group{
		{"v1 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only " + leases, holds, "the release does not end with the order"},
		{"v1.5", stuck, "the TTL is not set when the caller goes between the two commands"},
		{"v16 v17", holds, "the write does not end with the order"},
	})},
	{"node-down", slices.Concat(needNoFault, []group{
		{"v1 v1.5", stuck, "its DEL, or its PEXPIRE, does not come through, and the key has no TTL"},
		{"v2 v3 v4 v5 v15 v15-write-only " + leases, holds, "the TTL ends a lease that cannot be released"},
		{"v6", holds, "two of three are a majority"},
		{"v9-nodes", holds, "nobody sells until the node is back"},
		{"v16 v17", holds, "it needs no lock server"},
	})},
	{"node-empty", slices.Concat(needNoFault[:3], []group{
		{"v1 v1.5 v2 v3", oversoldFreed, "the key is gone while its holder works, and another takes it"},
		{"v4 v5 v15-write-only " + leases, oversold, "the key is gone while its holder works, and another takes it"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15", shared, "the next token comes from the clock, and is higher"},
		{"v6", oversold, "the empty node votes twice, and the holder has no more than a majority"},
		{"v9-nodes", holds, "the other nodes remember the lock"},
		{"v16 v17", holds, "it needs no lock server"},
	})},
	{"clock-jump", slices.Concat(needNoFault[:3], []group{
		{"v1", holds, "its key has no TTL"},
		{"v1.5 v2 v3", oversoldFreed, "the lease ends early, while its holder works"},
		{"v4 v5 v15-write-only " + leases, oversold, "the lease ends early, while its holder works"},
		{"v5-as-printed", everything, "as v5, and its timer"},
		{"v15", shared, "the stock refuses the older token"},
		{"v6", oversold, "the node whose clock jumps votes twice"},
		{"v9-nodes", holds, "the lease lasts on the other nodes"},
		{"v16 v17", holds, "there is nothing that expires"},
	})},
}

// Surprise returns in what a cell differs from its expectation, "" if it does not or if there is none. Only bounds of
// the usual kind have expectations.
func (c Cell) Surprise() string {
	expected, ok := Expect(c.Rung, c.Fault)
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
