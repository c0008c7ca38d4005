// Package record has what a trial sees of a shop: the commands that its orders sent, whose each of them was, and the
// cell that results. It knows the passport of the lock, but learns nothing, and injects no fault.
//
// Reading order: bench.go (a pair of instances, and its cell), order.go (orders of the cell), command.go (commands, and
// what they did), owner.go (whose they were) with late.go (those from timers) and place.go (places in a queue), unit.go
// (the units that were taken), request.go (requests to a database), end.go (locks that the trial ended), cell.go (the
// cell). Meanwhile holder.go has which instance holds the lock, hold.go holds an order at its work, and lock.go puts
// the lock into a state.
package record
