package trial

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/wire"
)

// atWork returns the move to the start of an order's work under the lock: the last command before the write, or the
// first request to the database.
func (p *playedLine) atWork(m schedule.Move) schedule.Move {
	if under := p.bench.Passport.ToDatabase.Under; m.Mark == schedule.Read && len(under) > 0 {
		m.Mark, m.Reply = fmt.Sprintf("db%d", under[0]), false
	}
	return m
}

// misplaced returns why the request at which an order is held is not the one of that number in plain sales, "" if it
// may be: an order that opens a connection sends more requests, with other numbers. Only a lock shows that.
func (p *playedLine) misplaced(m schedule.Move) string {
	o := p.bench.OrderOf(p.player.Scene(m.Who).Order)
	if m.Request() == 0 || len(p.bench.Passport.Locks) == 0 {
		return ""
	}
	of, number := &p.bench.Passport.ToDatabase, m.Request()
	tooEarly := func() string {
		return comesTooEarly(of, number, p.bench.TookFor(o).Known(), p.bench.ReleasedFor(o).Known())
	}
	came := tooEarly()
	if came != "" { // an asynchronous release may be in flight
		p.bench.Pair.Rig.Quiet(p.bench.Pair.Context)
		came = tooEarly()
	}
	if came == "" {
		return ""
	}
	return fmt.Sprintf("%s did not send the database the requests of a plain sale, as on a new connection: request %d "+
		"came %s", people[m.Who], number, came)
}

// comesTooEarly returns what should have happened to the lock before an order's request of that number and has not, ""
// if nothing.
func comesTooEarly(r *sale.Requests, number int, taken, released bool) string {
	switch {
	case slices.Contains(r.Under, number) && !taken:
		return "before the lock was acquired"
	case slices.Contains(r.After, number) && !released:
		return "before the lock was released"
	}
	return ""
}

// aRequest is how long a request may be unanswered before it counts as waiting for another order's transaction.
const aRequest = 300 * time.Millisecond

// waitsForDatabase returns a channel that is closed once a request of an instance waits for another transaction.
func (p *playedLine) waitsForDatabase(at int, done <-chan struct{}) <-chan struct{} {
	d, waits := p.bench.Pair.Rig.Ends[at].Database, make(chan struct{})
	if d == nil {
		return nil
	}
	p.bench.Pair.Tasks.Go(func() {
		for !wire.IsClosed(done) && p.bench.Pair.Context.Err() == nil {
			if d.Waiting(aRequest) {
				close(waits)
				return
			}
			time.Sleep(10 * time.Millisecond) // that no reply comes is no event
		}
	})
	return waits
}
