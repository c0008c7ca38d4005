package run

import (
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// Settings say how a run is made. Which cells it has is said apart.
type Settings struct {
	// Build names the build of this loadtest.
	Build string
	Load  history.Load
	// AtOnce is the number of fault cells that run side by side.
	AtOnce int

	// Targets are the URLs of instances that run already. Without any, the run starts its own.
	Targets    []string
	AdminToken string
	// Backend, ZooKeeper, SQL and Stockapi are used if the run starts its instances: see [cluster.Options].
	Backend, ZooKeeper, SQL, Stockapi string

	// Spool holds the orders that are too many for memory.
	Spool *history.Spool
}

// Progress shows the progress of a run. Finished and Status may be called from several goroutines.
type Progress interface {
	// Say shows a text until something else is shown, also where there is no terminal.
	Say(text string)
	// Begin is called once, before the first cell, when all is known of the run but its cells.
	Begin(run *history.Run, specs []catalog.Spec)
	// Status shows a text that changes. Nil shows how many cells are finished.
	Status(text func() string)
	// Finished shows a finished cell.
	Finished(cell *catalog.Assessment)
}

// bounds raises what the instances accept to what this run asks for; the first value is stockapi's own default.
func (s *Settings) bounds() cluster.Bounds {
	return cluster.Bounds{
		Wait: max(time.Minute, s.Load.Wait), TTL: max(10*time.Minute, s.Load.TTL), Work: max(time.Minute, s.Load.Work),
	}
}

// outlasted reports whether the run uses anything that is still there after it. Servers of its own go when it ends,
// with all that they hold.
func (s *Settings) outlasted() bool {
	isURL := func(text string) bool { return strings.Contains(text, "://") }
	return len(s.Targets) > 0 || isURL(s.Backend) || isURL(s.SQL) || s.ZooKeeper != ""
}

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
