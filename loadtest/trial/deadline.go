package trial

import (
	"math"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/schedule"
)

// How long each move of a line may take at most is a function of the passport and of what surrounds the move.

const (
	// margin is the time that a fresh order is allowed beyond a lease and a sale.
	margin = time.Duration(cause.Margin)
	// mostLease is the longest lease that a cell waits for.
	mostLease = cause.LongLease
	// leastHTTPTime is longer than libraries retry; mostHTTPTime bounds the duration of a cell.
	leastHTTPTime, mostHTTPTime = 20 * time.Second, time.Minute
	// aMoment is longer than some shops wait for a reply before they release what they tried to acquire, and shorter than
	// the timeouts of clients.
	aMoment = 400 * time.Millisecond
	// atOnce is longer than a plain sale takes: an order that is not answered by then waits.
	atOnce = 300 * time.Millisecond
	// mostMoment is long enough for several polls of a waiter.
	mostMoment = 700 * time.Millisecond
	// forEver is the time left to a client that gives up on no reply.
	forEver = time.Duration(math.MaxInt64)
)

// A scene is what surrounds a move of an order.
type scene struct {
	open   bool          // another order is in flight
	under  bool          // one of those is held under a lock that it must keep
	lapsed bool          // a lease was let pass
	held   int           // the number of held commands and replies, of all orders
	left   time.Duration // until the first client of the other held orders gives up on its reply
	again  bool          // the customer sends orders until one sells
	came   time.Duration // since the first of those was sent; 0: none was
}

// deadline returns how long a move may take at most.
func (p *Passport) deadline(m schedule.Move, s scene) time.Duration {
	switch {
	case m.Verb == "time" && s.held > 1: // the clients of both wait
		return min(aMoment, p.moment())
	case m.Verb == "time":
		return aMoment
	case m.Mark == schedule.Renewal: // one is due within a period, and may come late
		return min(p.Every*3/2, p.hold())
	case m.Mark == schedule.Waits:
		return atOnce
	case m.Mark == "", m.Mark == schedule.End && s.under && !s.again: // it gets nowhere, and may poll
		return p.moment()
	case s.under && m.Mark != schedule.End && m.Request() == 0: // it can reach no further than the lock, and must leave
		return p.Lease() / 4 // the holder time to work
	case s.again && s.came > 0: // all its orders together
		return min(p.turn(s), p.Lease()+margin-s.came)
	case s.open, s.again:
		return p.turn(s)
	}
	return p.httpTime()
}

// moment returns how long another order may take while one is held under its lock: a share of the lease and of what its
// client waits, since a line may have several.
func (p *Passport) moment() time.Duration { return min(p.Lease()/4, p.hold()/3, mostMoment) }

// turn returns how long an order may take until it gets the lock that another one held, unless the clients of held
// orders give up before.
func (p *Passport) turn(s scene) time.Duration {
	atMost := margin
	if !s.lapsed {
		atMost += min(p.Lease(), mostLease)
	}
	return min(atMost, s.left)
}

// patience returns the time that a fresh order is allowed: a lease, a plain sale, and the margin. A long lease does not
// count: the trial expires it.
func (p *Passport) patience() time.Duration {
	lease := p.Lease()
	if lease > mostLease {
		lease = 0
	}
	return lease + p.Takes + margin
}

// httpTime returns how long an order may take. It covers the lease, or an instance would still work for one order when the
// next one arrives.
func (p *Passport) httpTime() time.Duration {
	return min(max(leastHTTPTime, p.patience()), mostHTTPTime)
}

// expiry returns how long a lease takes to pass, and a late command's client to give up on it.
func (p *Passport) expiry(isLate bool) time.Duration {
	if isLate {
		return max(p.Lease(), p.Patience)
	}
	return p.Lease()
}

// holdAcquire returns how long the reply to an acquire can be held: an order renews the lock only after that reply.
func (p *Passport) holdAcquire() time.Duration {
	if p.Every > 0 {
		return max(0, min(p.hold(), p.Lease()-p.Every*3/2))
	}
	return p.hold()
}

// hold returns how long a reply can be held: less than its client waits or, if that is longer than a lease, for longer
// than that.
func (p *Passport) hold() time.Duration {
	if p.Patience > 0 {
		return p.Patience - 300*time.Millisecond
	}
	return p.Lease() + 800*time.Millisecond
}

// outlastsLease reports whether the client of an order waits for a reply for longer than a lease.
func (p *Passport) outlastsLease() bool { return p.hold() >= p.Lease()+200*time.Millisecond }
