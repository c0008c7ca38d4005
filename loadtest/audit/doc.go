// Package audit judges a history: seven questions, seven separate answers, each with evidence that can be looked
// up in the history again. It is pure: no I/O, no clock of its own, and the same history always gets the same
// verdicts. It trusts what the service says of its own sales and commands, and nothing it says of their order
// across machines.
//
// Two rules hold throughout. "ok" means that no violation was found. And an order whose outcome is unknown may
// have done anything its kind can do, from the moment it was sent until ever after: a verdict that this could
// change is "unknown", never "ok".
//
// Reading order: audit.go, then one file per verdict (stock.go, exclusion.go, release.go, liveness.go,
// fence.go, order.go, herd.go), clock.go for what instants of different machines can tell, and story.go for the words.
package audit
