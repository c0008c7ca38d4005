package catalog

import (
	"slices"

	"stockapi/loadtest/history"
)

// ExpectSchedules returns the verdicts that some schedule breaks for a rung, and why: in a situation of the explorer,
// under a kind of fault, or "none". It returns false if there is no expectation. In the usual situation a
// variant that no group names has the expectation of its rung.
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
	if of := RungOf(rung).Variant.Of; of != "" && situation == "" {
		return ExpectSchedules(of, situation, fault)
	}
	return nil, "", false
}

// The outcomes that only schedules have.
var (
	everything    = Breaks{history.Stock, history.Exclusion, history.Liveness}
	stuckAndFreed = Breaks{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness}
)

// brokenAnyway are the rungs that break without a fault, and with the same verdicts under each fault that adds none.
var brokenAnyway = slices.Concat(
	On("v0", SoldTwice, "both read the same stock, then both write"),
	On("v0.5", SoldTwice, "each process has a mutex of its own"),
	On("v11-two", Oversold, "there are two permits"),
	On("v5-as-printed", Stuck, "the second order finds the shop sold out, and its timer creates the lock again"),
)

// leases are the rungs whose lock expires and has an owner, unless an earlier group names them.
const leases = "v5.5 v7 v8 v9 v10 v11"

// schedules are the verdicts that some order of two clients' commands breaks for each rung: in a situation of the
// explorer, "" for the usual one, under one fault of a kind, or none. They were written before the rungs were explored;
// docs/explore.md lists those that the run refuted.
var schedules = []struct {
	situation, fault string
	groups           Groups
}{
	{"", "none", slices.Concat(brokenAnyway,
		On("v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only "+leases, Holds,
			"without a fault the lock is held until it is released"),
		On("v16 v17", Holds, "the stock is compared and written in one step"),
	)},
	{"", "expiry", slices.Concat(brokenAnyway,
		On("v1", Holds, "its key has no TTL"),
		On("v1.5 v2", OversoldFreed, "the lease expires at work, and the release deletes whatever lock is there"),
		On("v3", OversoldFreed, "the lease expires at work, or between the owner check and the delete"),
		On("v4", Oversold, "the lease expires at work, but the script deletes only its own lock"),
		On("v5 v6 v9-nodes v15 v15-write-only "+leases, Holds,
			"the next timer is the renewal, which comes before the expiry"),
		On("v16 v17", Holds, "there is nothing that expires"),
	)},
	{"", "hold", slices.Concat(brokenAnyway[:3],
		On("v1", Holds, "its key has no TTL: the others wait"),
		On("v1.5 v2 v3", OversoldFreed, "the write, or the delete, arrives after the expiry"),
		On("v4 v5 v6 v9-nodes v15-write-only "+leases, Oversold,
			"the write was checked before it was held, and arrives after the expiry"),
		On("v5-as-printed", everything, "as v5, and its timer"),
		On("v15", Shared, "the stock refuses the older token"),
		On("v16 v17", Holds, "there is no time between the check and the write"),
	)},
	{"", "crash", slices.Concat(brokenAnyway,
		On("v1", Stuck, "its key has no TTL, and its only deleter is dead"),
		On("v1.5", Stuck, "it dies between SETNX and PEXPIRE"),
		On("v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only "+leases, Holds, "the TTL ends the dead client's lease"),
		On("v16 v17", Holds, "there is no lock to leave behind"),
	)},
	{"", "lose-request", slices.Concat(brokenAnyway,
		On("v1", Stuck, "its DEL is lost, and the key has no TTL"),
		On("v1.5", Stuck, "its PEXPIRE is lost, and then it does not delete the key"),
		On("v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only "+leases, Holds,
			"the TTL ends a lease whose release is lost"),
		On("v16 v17", Holds, "a lost write wrote nothing"),
	)},
	{"", "lose-reply", slices.Concat(brokenAnyway,
		On("v1", Stuck, "it does not know that it holds the lock, and the key has no TTL"),
		On("v1.5", Stuck, "it does not know that it holds the lock, and sets no TTL"),
		On("v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only "+leases, Holds,
			"the TTL ends a lease that no client knows of"),
		On("v16 v17", Holds, "a write whose reply is lost is not repeated"),
	)},
	{"", "late", slices.Concat(brokenAnyway[:3],
		On("v1", everything, "a write arrives after the release, a SETNX after its client is gone; the key has no TTL"),
		On("v1.5", stuckAndFreed,
			"a write arrives after the release, a DEL after the expiry; without a PEXPIRE no TTL is set"),
		On("v2 v3", OversoldFreed, "a write arrives after the release, a DEL after the expiry, when another holds the lock"),
		On("v4 v5 v6 v9-nodes v15-write-only "+leases, Oversold, "a write arrives after the release, when another has read"),
		On("v5-as-printed", everything, "as v5, and its timer"),
		On("v15", Shared, "the stock refuses a late write: the next holder's token was seen when it read"),
		On("v16 v17", Holds, "the stock is compared when the write arrives"),
	)},
	{"", "drop", slices.Concat(brokenAnyway,
		On("v1 v1.5 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only v16 v17 v5.5 v9 v10 v11", Holds,
			"it listens to no message"),
		On("v7 v8 v18", Holds, "a waiter retries when the lease that it saw has expired"),
	)},
	{"", "give-up", slices.Concat(brokenAnyway,
		On("v1 v2 v3 v4 v5 v6 v9-nodes v15 v15-write-only "+leases, Holds,
			"the release is sent even if the caller goes"),
		On("v1.5", Stuck, "the TTL is not set when the caller goes between the two commands"),
		On("v16 v17", Holds, "the write is not cut short if the caller goes"),
	)},
	{"", "node-down", slices.Concat(brokenAnyway,
		On("v1 v1.5", Stuck, "its DEL, or its PEXPIRE, does not arrive, and the key has no TTL"),
		On("v2 v3 v4 v5 v15 v15-write-only "+leases, Holds, "the TTL ends a lease that cannot be released"),
		On("v6", Holds, "two of three are a majority"),
		On("v9-nodes", Holds, "no order sells until the node is back"),
		On("v16 v17", Holds, "it needs no lock server"),
	)},
	{"", "node-empty", slices.Concat(brokenAnyway[:3],
		On("v1 v1.5 v2 v3", OversoldFreed, "the key is gone while its holder works, and another takes it"),
		On("v4 v5 v15-write-only "+leases, Oversold, "the key is gone while its holder works, and another takes it"),
		On("v5-as-printed", everything, "as v5, and its timer"),
		On("v15", Shared, "the next token comes from the clock, and is higher"),
		On("v6", Oversold, "the empty node votes twice, and the holder had a bare majority"),
		On("v9-nodes", Holds, "the other nodes remember the lock"),
		On("v16 v17", Holds, "it needs no lock server"),
	)},
	{"", "clock-jump", slices.Concat(brokenAnyway[:3],
		On("v1", Holds, "its key has no TTL"),
		On("v1.5 v2 v3", OversoldFreed, "the lease ends early, while its holder works"),
		On("v4 v5 v15-write-only "+leases, Oversold, "the lease ends early, while its holder works"),
		On("v5-as-printed", everything, "as v5, and its timer"),
		On("v15", Shared, "the stock refuses the older token"),
		On("v6", Oversold, "the node whose clock jumps votes twice"),
		On("v9-nodes", Holds, "the lease lasts on the other nodes"),
		On("v16 v17", Holds, "there is nothing that expires"),
	)},

	// The situations, each for its rungs, under the faults of interest.
	{"queue", "none", On("v8 v18 v19", Holds,
		"the lock goes to the head of the queue, whichever waiter polls first after the expiry")},
	{"queue", "crash", On("v8 v18 v19", Holds, "the place of a dead waiter expires, and the next one is the head")},
	{"queue", "late", slices.Concat(
		On("v8", Oversold, "a write arrives after the release; a late place in the queue is swept"),
		On("v18 v19", Shared, "the stock refuses a late write; a late place in the queue is swept"),
	)},
	{"queue", "drop", On("v8 v18 v19", Holds, "a waiter renews its place in the queue, and retries")},
	{"queue", "give-up", On("v8 v18 v19", Holds,
		"a waiter that leaves the queue calls the next one if the lock is free")},
	{"nested", "none", slices.Concat(
		On("v7 v8", Holds, "the lock knows its owner, and counts"),
		On("v7-cached", Holds, "the process remembers holding the lock"),
	)},
	{"nested", "lose-request", On("v7 v7-cached v8", Holds,
		"the outer release sets the count, whatever the inner one did")},
	{"nested", "lose-reply", On("v7 v7-cached v8", Holds,
		"an inner acquire is undone by restoring the count before it")},
	{"again", "none", slices.Concat(
		On("v7 v8", Holds, "each order has a name of its own in the lock"),
		On("v7-cached", Oversold, "its caller has released the lock, but the process still remembers holding it"),
	)},
	{"again", "lose-request", On("v7 v8", Holds,
		"a release that was lost is swept, and counts for no later order of its caller")},
	{"again", "late", On("v7 v8", Oversold,
		"a write arrives after the release, when another has read; a late release removes nothing")},
	{"two-products", "none", slices.Concat(
		On("v9", Holds, "it takes the locks in the same order as all others, and holds none while it waits"),
		On("v9-naive", Stuck, "each holds the lock that the other waits for"),
	)},
	{"readers", "none", On("v10", Holds,
		"a waiting writer keeps new readers out by its mark, which it renews in time")},
	{"readers", "hold", On("v10", Breaks{history.Exclusion, history.InOrder},
		"a held writer renews neither its mark nor its lease: the reader acquires the lock")},
	{"readers", "crash", On("v10", Holds, "the mark of a dead writer expires")},
	{"readers", "give-up", On("v10", Holds, "a writer that gives up removes its mark")},
}
