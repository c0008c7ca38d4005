package catalog

import "time"

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
