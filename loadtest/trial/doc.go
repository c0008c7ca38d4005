// Package trial puts a user's shop on trial: a service in any language that takes a port and the URL of a Redis. It
// starts two instances, each with a proxy to Redis of its own, learns the lock, injects faults between the commands, or
// between the requests to a database, and judges what the proxies recorded. All it knows of the shop is how an order is
// sent, and where the stock is.
//
// Reading order: packages shop (a Redis, two proxies, two instances, and orders there) and sale (what is learned of a
// shop), trial.go (the whole), bench.go (the cell that is played on a pair of instances), order.go (plain orders),
// learn.go with locks.go (which keys are the lock) and facts.go (how it is used), first.go (what the first order
// shows), soldout.go (the answer when sold out), faults.go (the cells) with cells.go (their list), played.go (what the
// words of a line mean for a shop; package rig plays it), inflict.go and play.go (what is no line), holder.go (which
// instance holds the lock meanwhile), record.go (the recorded commands, as a cell) with late.go (those that come from
// timers). If the stock is not in Redis, elsewhere.go counts it, database.go learns and records the requests of a sale,
// request.go holds them, and moments.go plays a fault at each. Package cause explains the cells.
package trial
