package catalog

import (
	"slices"

	"stockapi/loadtest/history"
)

// ExpectSchedules returns which verdicts some order of commands breaks of a rung, in a situation of the explorer, under
// a kind of fault, "none" for no fault, and why. It returns false if nothing is expected.
func ExpectSchedules(rung, situation, fault string) (breaks []history.Verdict, why string, ok bool) {
	for _, one := range schedules {
		if one.situation != situation || one.fault != fault {
			continue
		}
		for _, g := range one.groups {
			if slices.Contains(g.rungs, rung) {
				return g.breaks, g.why, true
			}
		}
	}
	return nil, "", false
}

// What schedules alone come to.
var (
	everything    = outcome{history.Stock, history.Exclusion, history.Liveness}
	stuckAndFreed = outcome{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness}
)

// brokenAnyway are the rungs that break without a fault, with the same verdicts under each that adds none.
var brokenAnyway = all(
	on("v0", soldTwice, "both read the same stock, then both write"),
	on("v0.5", soldTwice, "each process has a mutex of its own"),
	on("v11-two", oversold, "there is a permit for each of the two"),
	on("v5-as-printed", stuck, "the second order finds the shop sold out, and its timer creates the lock again"),
)

// leases are the rungs whose lock expires, and that know it for their own, unless a group names them before.
const leases = "v5.5 v5.7 v7 v7-cached v8 v9 v9-naive v10 v11"

// schedules says what the rungs come to in every order of two clients' commands: in a situation of the explorer, "" for
// the usual one, under one fault of a kind, or under none. It was written before the rungs were explored. What the run
// contradicted is said in docs/explore.md.
var schedules = []struct {
	situation, fault string
	groups           groups
}{
	{"", "none", all(brokenAnyway,
		on("v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 "+leases, holds,
			"without a fault the lock is held until it is released"),
		on("v16 v17", holds, "the stock is compared and written in one step"),
	)},
	{"", "expiry", all(brokenAnyway,
		on("v1", holds, "its key has no TTL"),
		on("v1.5 v2", oversoldFreed, "the lock expires at work, and the release deletes what is there"),
		on("v3", oversoldFreed, "the lock expires at work; also between the check of the owner and the delete"),
		on("v4", oversold, "the lock expires at work; the script deletes nothing that is another's"),
		on("v5 v6 v9-nodes v15 v15-write-only v18 v19 "+leases, holds,
			"the next timer is the renewal, which comes before the expiry"),
		on("v16 v17", holds, "there is nothing that expires"),
	)},
	{"", "hold", all(brokenAnyway[:3],
		on("v1", holds, "its key has no TTL: the others wait"),
		on("v1.5 v2 v3", oversoldFreed, "the write, or the delete, comes after the expiry"),
		on("v4 v5 v6 v9-nodes v15-write-only "+leases, oversold,
			"the write was checked before it was held, and comes after the expiry"),
		on("v5-as-printed", everything, "as v5, and its timer"),
		on("v15 v18 v19", shared, "the stock refuses the older token"),
		on("v16 v17", holds, "there is no time between the check and the write"),
	)},
	{"", "crash", all(brokenAnyway,
		on("v1", stuck, "its key has no TTL, and nobody is left to delete it"),
		on("v1.5", stuck, "it dies between SETNX and the TTL"),
		on("v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 "+leases, holds, "the TTL ends the lease of the dead"),
		on("v16 v17", holds, "there is no lock to leave behind"),
	)},
	{"", "lose-request", all(brokenAnyway,
		on("v1", stuck, "its DEL is lost, and the key has no TTL"),
		on("v1.5", stuck, "its PEXPIRE is lost, and then it deletes nothing"),
		on("v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 "+leases, holds,
			"the TTL ends a lease whose release is lost"),
		on("v16 v17", holds, "what is lost was not written"),
	)},
	{"", "lose-reply", all(brokenAnyway,
		on("v1", stuck, "it does not know that it has the lock, and the key has no TTL"),
		on("v1.5", stuck, "it does not know that it has the lock, and sets no TTL"),
		on("v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 "+leases, holds,
			"the TTL ends a lease that nobody knows of"),
		on("v16 v17", holds, "a write whose reply is lost is not repeated"),
	)},
	{"", "late", all(brokenAnyway[:3],
		on("v1", everything, "a write comes after the release, a SETNX after its client has gone; the key has no TTL"),
		on("v1.5", stuckAndFreed,
			"a write comes after the release, a DEL after the expiry; without a PEXPIRE no TTL is set"),
		on("v2 v3", oversoldFreed, "a write comes after the release; a DEL after the expiry, when another has the lock"),
		on("v4 v5 v6 v9-nodes v15-write-only "+leases, oversold, "a write comes after the release, when another has read"),
		on("v5-as-printed", everything, "as v5, and its timer"),
		on("v15 v18 v19", shared, "the stock refuses a late write: the next holder's token was seen when it read"),
		on("v16 v17", holds, "the stock is compared when the write arrives"),
	)},
	{"", "drop", all(brokenAnyway,
		on("v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v16 v17 v5.5 v5.7 v9 v9-naive v10 v11", holds,
			"it listens to no message"),
		on("v7 v7-cached v8 v18 v19", holds, "a waiter asks again when the lease that it saw has ended"),
	)},
	{"", "give-up", all(brokenAnyway,
		on("v1 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v18 v19 "+leases, holds,
			"the release does not end with the order"),
		on("v1.5", stuck, "the TTL is not set when the caller goes between the two commands"),
		on("v16 v17", holds, "the write does not end with the order"),
	)},
	{"", "node-down", all(brokenAnyway,
		on("v1 v1.5", stuck, "its DEL, or its PEXPIRE, does not come through, and the key has no TTL"),
		on("v2 v3 v4 v5 v15 v15-write-only v18 v19 "+leases, holds, "the TTL ends a lease that cannot be released"),
		on("v6", holds, "two of three are a majority"),
		on("v9-nodes", holds, "nobody sells until the node is back"),
		on("v16 v17", holds, "it needs no lock server"),
	)},
	{"", "node-empty", all(brokenAnyway[:3],
		on("v1 v1.5 v2 v3", oversoldFreed, "the key is gone while its holder works, and another takes it"),
		on("v4 v5 v15-write-only "+leases, oversold, "the key is gone while its holder works, and another takes it"),
		on("v5-as-printed", everything, "as v5, and its timer"),
		on("v15 v18 v19", shared, "the next token comes from the clock, and is higher"),
		on("v6", oversold, "the empty node votes twice, and the holder has no more than a majority"),
		on("v9-nodes", holds, "the other nodes remember the lock"),
		on("v16 v17", holds, "it needs no lock server"),
	)},
	{"", "clock-jump", all(brokenAnyway[:3],
		on("v1", holds, "its key has no TTL"),
		on("v1.5 v2 v3", oversoldFreed, "the lease ends early, while its holder works"),
		on("v4 v5 v15-write-only "+leases, oversold, "the lease ends early, while its holder works"),
		on("v5-as-printed", everything, "as v5, and its timer"),
		on("v15 v18 v19", shared, "the stock refuses the older token"),
		on("v6", oversold, "the node whose clock jumps votes twice"),
		on("v9-nodes", holds, "the lease lasts on the other nodes"),
		on("v16 v17", holds, "there is nothing that expires"),
	)},

	// The situations, each for the rungs that it is about, under the faults that it is of interest for.
	{"queue", "none", on("v8 v18 v19", holds,
		"the lock goes to the head of the queue, whoever asks first when it has expired")},
	{"queue", "crash", on("v8 v18 v19", holds, "the place of a dead waiter expires, and the next one is the head")},
	{"queue", "late", all(
		on("v8", oversold, "a write comes after the release; a late place in the queue is swept"),
		on("v18 v19", shared, "the stock refuses a late write; a late place in the queue is swept"),
	)},
	{"queue", "drop", on("v8 v18 v19", holds, "a waiter renews its place, and asks again")},
	{"queue", "give-up", on("v8 v18 v19", holds,
		"a waiter that leaves the queue calls the next one if the lock is free")},
	{"nested", "none", all(
		on("v7 v8", holds, "the lock knows its owner, and counts"),
		on("v7-cached", holds, "the process remembers that it has the lock"),
	)},
	{"nested", "lose-request", on("v7 v7-cached v8", holds,
		"the outer release sets the count, whatever the inner one came to")},
	{"nested", "lose-reply", on("v7 v7-cached v8", holds,
		"an inner acquire is undone to the count that there was before it")},
	{"again", "none", all(
		on("v7 v8", holds, "each order has a name of its own in the lock"),
		on("v7-cached", oversold, "its caller has given the lock back, but the process remembers that it has it"),
	)},
	{"again", "lose-request", on("v7 v8", holds,
		"a release that was lost is swept, and counts for no later order of its caller")},
	{"again", "late", on("v7 v8", oversold,
		"a write comes after the release, when another has read; a late release removes nothing")},
	{"two-products", "none", all(
		on("v9", holds, "it takes the locks in one order for all, and has none while it waits"),
		on("v9-naive", stuck, "each has the lock that the other waits for"),
	)},
	{"readers", "none", on("v10", holds,
		"the writer that waits keeps new readers out by its mark, which it renews in time")},
	{"readers", "hold", on("v10", outcome{history.Exclusion, history.Order},
		"a held writer does not renew its mark, nor its lease: the reader gets in")},
	{"readers", "crash", on("v10", holds, "the mark of a dead writer expires")},
	{"readers", "give-up", on("v10", holds, "a writer that gives up removes its mark")},
}
