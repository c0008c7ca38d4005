package main

import (
	"time"
)

const (
	// leastStockTTL is how long the stock of a cell lies on Redis at least if nobody removes it.
	leastStockTTL = time.Hour
	// mostStockTTL is the longest that stockapi allows.
	mostStockTTL = 30 * 24 * time.Hour
)

// stockTTL is for how long a cell's stock is put on the shelf: an hour more than the longest that the cell can take, in
// which every buyer waits for as long as it may, and those of one worker wait one after the other. The stock is removed
// when the cell is over; the TTL is for a loadtest that was killed, on a Redis that is somebody else's.
func (f *runFlags) stockTTL() time.Duration {
	const answer = 10 * time.Second // what an answer may take beyond that, as package scenario has it
	turns := float64((f.Requests + f.Concurrency - 1) / f.Concurrency)
	longest := turns * (f.Wait + f.Work + answer).Seconds()
	if f.Rate > 0 {
		longest += float64(f.Requests) / f.Rate
	}
	if longest >= (mostStockTTL - leastStockTTL).Seconds() {
		return mostStockTTL
	}
	return leastStockTTL + time.Duration(longest)*time.Second
}
