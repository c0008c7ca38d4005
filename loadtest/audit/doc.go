// Package audit judges a history: first whether it is a measurement of the service at all, and then seven separate
// questions, each with evidence that can be looked up in the history. It is pure: no I/O, no clock of its own, and the
// same history always gets the same verdicts. It trusts what the service says of its own sales and commands, but not
// their order across machines.
//
// Three rules hold throughout. "BROKEN" means that the violation is proven: a machine that stood still or an answer
// that came late cannot explain it, and a cell in which a clock was stepped is not judged. "ok" means that no
// violation was found where one would have shown. And an order of unknown outcome may have done anything that its
// kind can do, at any time after it was sent: a verdict that this could change is "unknown", never "ok".
//
// Each question reads the same books. Of a recorded cell nothing takes longer than n log n.
//
// Reading order: audit.go, books.go (what the questions share) with soldby.go (orders that were served under the leases
// of others) and leases.go (when the holders of the lock believed that they had it), then one file per verdict
// (valid.go, stock.go, exclusion.go, release.go, liveness.go, fence.go, order.go, herd.go), clock.go for which instants
// are compared, coverage.go for what an "ok" rests on, and story.go for the words.
package audit
