// Package sale has what a trial knows of a shop's plain sale: its commands, the lock, and how long each of them lasts
// or can be held. A trial learns this passport, and reads it in every cell. The package starts and records nothing.
//
// Reading order: passport.go (the facts of the lock), shape.go (what commands of different orders have in common),
// steps.go (what comes before and after the write), commands.go (the sale, for readers), text.go (the lock in words),
// deadline.go (how long each move may take, and each reply be held) and slow.go (how an order is made slow).
package sale
