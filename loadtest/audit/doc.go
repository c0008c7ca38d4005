// Package audit judges a history: whether it is a measurement of the service at all, and then seven questions, seven
// separate answers, each with evidence that can be looked up in the history again. It is pure: no I/O, no clock of its
// own, and the same history always gets the same verdicts. It trusts what the service says of its own sales and
// commands, and nothing it says of their order across machines.
//
// Three rules hold throughout. "BROKEN" means that it is proven: a clock that was set, a machine that stood still or an
// answer that came late cannot explain it. "ok" means that no violation was found where one would have shown. And an
// order whose outcome is unknown may have done anything its kind can do, from the moment it was sent until ever after:
// a verdict that this could change is "unknown", never "ok".
//
// The ops of a cell may be a million, and need not lie in memory. So they are looked at one after the other, three times or
// four, and each time a few numbers are kept of each: books.go for the stock, leases.go for who held the lock, release.go
// for the commands, fence.go for the tokens. What a piece of evidence needs in words is read again. Nothing takes longer
// than n log n.
//
// Reading order: audit.go, books.go, leases.go, then one file per verdict (valid.go, stock.go, exclusion.go,
// release.go, liveness.go, fence.go, order.go, herd.go), clock.go for what instants of different machines can tell,
// overlap.go for how leases are compared, coverage.go for how much an "ok" rests on, and story.go for the words.
package audit
