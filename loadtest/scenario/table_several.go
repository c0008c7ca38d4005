package scenario

import "time"

// What happens to orders of several products. They wait as long as the lease is; a fresh request has less.
var oppositeOrder = Scenario{
	Name: "opposite-order", Does: "two orders name two products in opposite orders; a fresh request has 1 s of a wait of 3 s", Instances: 2,
	inject: injectOppositeOrder,
	TTL:    3 * time.Second,
	Within: time.Second,
	Apart:  apartFrom([]string{"v9", "v9-naive"}, "an order is of one product, and takes one lock"),
	Expect: []Expectation{
		{"v9", leaseHolds, "it takes both or none, in one order for all, and holds nothing while it waits"},
		{"v9-naive", stuck, "each holds the lock that the other waits for, and nobody gets either until their waits are over"},
	},
}
