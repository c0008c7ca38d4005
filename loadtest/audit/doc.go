// Package audit judges a history: first whether it measures the service at all, then seven separate verdicts, each with
// evidence that can be looked up in the history. It is pure: no I/O, no clock of its own, and the same history always
// gets the same verdicts. It trusts what the service reports of its own sales and commands, but not their order across
// machines.
//
// Three rules hold throughout. "BROKEN" means that the violation is proven: no machine that stalled and no late answer
// can explain it, and a cell in which a clock was stepped is not judged. "ok" means that no violation was found where
// one would have shown. And an order of unknown outcome may have done anything that its kind can do, at any time after
// it was sent: a verdict that this could change is "unknown", never "ok".
//
// All verdicts read the same books. None takes longer than n log n in the size of the cell.
//
// Reading order: audit.go, books.go (shared by the verdicts) with soldby.go (orders served under another order's lease)
// and leases.go (when orders believed that they held the lock), then one file per verdict (valid.go, stock.go,
// exclusion.go, release.go, liveness.go, fence.go, order.go, herd.go), clock.go (which instants are compared),
// coverage.go (the evidence for an "ok"), and story.go (the wording).
package audit
