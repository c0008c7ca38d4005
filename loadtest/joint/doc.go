// Package joint lets several load generators, the parties, make one run. They meet at a Redis, begin every cell at one
// instant, exchange their measurements, and each of them merges these into the same cell. So each comes to the same
// verdict, and none of them is in charge.
//
// The first party, which came first, does what has to be done once, such as filling the shelf. If a party dies or gives
// up, the others notice within a latch's lease, and the run ends for all: a cell that a party has left proves nothing.
//
// Reading order: party.go (coming together, and staying together), terms.go (what they have to agree on), exchange.go,
// cell.go (a cell from its shelf to its verdict), merge.go (several histories into one, over clocks that differ).
package joint
