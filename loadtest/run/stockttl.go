package run

import (
	"time"

	"stockapi/loadtest/scenario"
)

const (
	// leastStockTTL is the least TTL of a cell's stock on Redis, which ends it if nobody removes it.
	leastStockTTL = time.Hour
	// mostStockTTL is the longest that stockapi allows.
	mostStockTTL = 30 * 24 * time.Hour
)

// stockTTL returns the TTL of a cell's stock: an hour more than the longest that the cell can take. In the longest cell
// every buyer waits as long as it may, and the buyers of one worker wait one after the other. The stock is removed when
// the cell is over. The TTL is for a loadtest that was killed, on a Redis that somebody else uses.
func (s *Settings) stockTTL() time.Duration {
	l := s.Load
	turns := float64((l.Requests + l.Concurrency - 1) / l.Concurrency)
	longest := turns * (l.Wait + l.Work + scenario.AnswerMargin).Seconds()
	if l.Rate > 0 {
		longest += float64(l.Requests) / l.Rate
	}
	if longest >= (mostStockTTL - leastStockTTL).Seconds() {
		return mostStockTTL
	}
	return leastStockTTL + time.Duration(longest)*time.Second
}
