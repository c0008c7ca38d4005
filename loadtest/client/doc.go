// Package client is a client of one stockapi instance, over HTTP alone. It turns each answer, or its absence, into one
// of the six outcomes of a history: "no answer" is not "no".
//
// Reading order: client.go (connections), order.go (buying one unit), send.go (sending it exactly once), answer.go
// (what an answer means), notsent.go (orders that were never sent), orderstatus.go (the outcome of an order, queried
// later), admin.go (stock, locks, rungs), faults.go (faults that an instance accepts, and held orders), metrics.go
// (counting Redis commands).
package client
