// Package join lets several load generators make one run. They meet at a Redis, begin every cell at one instant, give
// each other what they measured, and each puts it together to the same cell: so each comes to the same verdict, and none
// of them is in charge.
//
// What has to be done once, such as filling the shelf, the first party does, which is the one that came first. If a
// party dies or gives up, the others find out within a latch's lease, and the run ends for all: a cell that somebody has
// left proves nothing.
//
// Reading order: party.go (coming together, and staying so), terms.go (what they have to agree on), exchange.go, cell.go
// (a cell from its shelf to its verdict), merge.go (many histories to one, over clocks that differ).
package join
