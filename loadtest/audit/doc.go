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
// The ops of a cell may be a million, and need not be in memory. So they are read one after the other, three or four
// times, and each pass keeps a few numbers of each: books.go for the stock, leases.go for what the holders of the lock
// believed, history's Timeline for who had the lock, fence.go for the tokens, and soldby.go, if some orders were served
// under the leases of others. Details that the words of evidence need are read again. Of a recorded cell nothing takes
// longer than n log n.
//
// Reading order: audit.go, books.go, soldby.go, leases.go, then one file per verdict (valid.go, stock.go, exclusion.go,
// release.go, liveness.go, fence.go, order.go, herd.go), clock.go for which instants are compared, coverage.go for
// what an "ok" rests on, and story.go for the words.
package audit
