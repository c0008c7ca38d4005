// Package client is a client of one stockapi instance. It knows HTTP and nothing else of it. It turns each answer, or
// its absence, into one of the six outcomes of a history: here "no answer" is kept apart from "no".
//
// Reading order: client.go (connections), order.go (buying one unit), send.go (what was sent, and that once),
// answer.go (what an answer means), notsent.go (orders that were never sent), orderstatus.go (the outcome of an
// order, asked for later), admin.go (stock, locks, rungs), faults.go (faults that an instance accepts, and orders that
// are held), metrics.go (counting Redis commands).
package client
