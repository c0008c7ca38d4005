// Package shop talks to one stockapi instance, over HTTP and knowing nothing else of it. It turns what comes
// back, or fails to, into one of the six outcomes of a history: the place where "no answer" is kept apart from
// "no".
//
// Reading order: client.go (connections), order.go (buying one unit), gate.go (many at once), answer.go (what the answer
// means), notsent.go (what never left here),
// admin.go (stock, locks, rungs), faults.go (orders that are held), metrics.go (counting Redis commands).
package shop
