package catalog

import "time"

// Unsharded are the scenarios that a sharded product cannot be in, each with the reason.
var Unsharded = map[string]string{
	"opposite-order":     "an order of several products takes none that is sharded",
	"readers-and-writer": "a reader's lock is of one stock",
	"sold-out-restock":   "a product that is put again has new locks, and nothing is seen of the old ones",
}

// An order names several products. It waits as long as the lease is; a fresh request has less.

var oppositeOrder = Scenario{
	Name:      "opposite-order",
	Does:      "two orders name two products in opposite orders; a fresh request has 1 s of a wait of 3 s",
	Instances: 2,
	TTL:       3 * time.Second,
	Within:    time.Second,
	groups: all(
		on("v9", holds, "it takes both or none, in one order for all, and holds nothing while it waits"),
		on("v9-naive", stuck,
			"each holds the lock that the other waits for, and nobody gets either until their waits are over"),
		skipOthers("an order is of one product, and takes one lock"),
	),
}
