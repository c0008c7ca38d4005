// Package trial puts anybody's shop on trial: a service in any language that is given a port and the URL of a Redis. It
// starts two instances of it, each behind a wire of its own, finds out what its lock is, places faults between its
// commands, or its requests to a database, and judges what the wires recorded. It knows nothing of the shop but how an
// order is sent and where the stock is.
//
// Reading order: trial.go (all of it), bench.go (a Redis, two wires, two instances), order.go (buying one unit),
// gate.go (which command is held or lost), learn.go with locks.go (what the lock is: a difference of states) and
// passport.go (how it is used), first.go (what the first order shows), soldout.go (how an empty shelf is answered),
// faults.go (the cells) with line.go and inflict.go (how each fault is injected) and play.go, record.go (what the wires
// saw, as a cell). Where the stock is in no Redis, elsewhere.go and shell.go put and count it, database.go learns the
// requests of a sale, request.go holds them, and moments.go plays a fault at each. What a cell means is told by package
// cause.
package trial
