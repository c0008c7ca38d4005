package sale

import (
	"math"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/schedule"
)

// How long each move of a line may take at most is a function of the passport and of what surrounds the move.

const (
	// Margin is the time that a fresh order is allowed beyond a lease and a sale.
	Margin = time.Duration(cause.Margin)
	// MostLease is the longest lease that a cell waits for.
	MostLease = cause.LongLease
	// leastHTTPTime is longer than libraries retry; mostHTTPTime bounds the duration of a cell.
	leastHTTPTime, mostHTTPTime = 20 * time.Second, time.Minute
	// AMoment is longer than some shops wait for a reply before they release what they tried to acquire, and shorter than
	// the timeouts of clients.
	AMoment = 400 * time.Millisecond
	// atOnce is longer than a plain sale takes: an order that is not answered by then waits.
	atOnce = 300 * time.Millisecond
	// mostMoment is long enough for several polls of a waiter.
	mostMoment = 700 * time.Millisecond
	// Forever is the time left to a client that gives up on no reply.
	Forever = time.Duration(math.MaxInt64)
)

// A Scene is what surrounds a move of an order.
type Scene struct {
	Sent   bool          // its own order is in flight
	Open   bool          // another order is in flight
	Under  bool          // one of those is held under a lock that it must keep
	Lapsed bool          // a lease was let pass
	Held   int           // the number of held commands and replies, of all orders
	Left   time.Duration // until the first client of the other held orders gives up on its reply
	Again  bool          // the customer sends orders until one sells
	Came   time.Duration // since the first of those was sent; 0: none was
}

// Deadline returns how long a move may take at most. What is a share of a lease counts from the order's first attempt to
// acquire the lock.
func (p *Passport) Deadline(m schedule.Move, s Scene) time.Duration {
	lead := p.Lead
	if s.Sent {
		lead = 0
	}
	switch {
	case m.Verb == "time" && s.Held > 1: // the clients of both wait
		return min(AMoment, p.Moment())
	case m.Verb == "time":
		return AMoment
	case m.Mark == schedule.Renewal: // one is due within a period, and may come late
		return min(p.Every*3/2, p.LongestHold())
	case m.Mark == schedule.Waits:
		return lead + atOnce
	case m.Mark == "", m.Mark == schedule.End && s.Under && !s.Again: // it gets nowhere, and may poll
		return lead + p.Moment()
	case s.Under && m.Mark != schedule.End && m.Request() == 0: // it can reach no further than the lock, and must leave
		return lead + p.Lease()/4 // the holder time to work
	case s.Again && s.Came > 0: // all its orders together
		return min(lead+p.turn(s), lead+p.Lease()+Margin-s.Came)
	case s.Open, s.Again:
		return lead + p.turn(s)
	}
	return p.HTTPTime()
}

// Moment returns how long another order may take while one is held under its lock: a share of the lease and of what its
// client waits, since a line may have several.
func (p *Passport) Moment() time.Duration { return min(p.Lease()/4, p.LongestHold()/3, mostMoment) }

// turn returns how long an order may take until it gets the lock that another one held, unless the clients of held
// orders give up before.
func (p *Passport) turn(s Scene) time.Duration {
	atMost := Margin
	if !s.Lapsed {
		atMost += min(p.Lease(), MostLease)
	}
	return min(atMost, s.Left)
}

// Limit returns the time that a fresh order is allowed: a lease, a plain sale, and the margin. A long lease does not
// count: the trial expires it.
func (p *Passport) Limit() time.Duration {
	lease := p.Lease()
	if lease > MostLease {
		lease = 0
	}
	return lease + p.Takes + Margin
}

// HTTPTime returns how long an order may take. It covers the lease, or an instance would still work for one order when
// the next one arrives.
func (p *Passport) HTTPTime() time.Duration {
	return min(max(leastHTTPTime, p.Limit()), mostHTTPTime)
}

// Expiry returns how long a lease takes to pass, and a late command's client to give up on it.
func (p *Passport) Expiry(isLate bool) time.Duration {
	if isLate {
		return max(p.Lease(), p.Patience)
	}
	return p.Lease()
}

// LongestAcquireHold returns how long the reply to an acquire can be held: an order renews the lock only after that
// reply.
func (p *Passport) LongestAcquireHold() time.Duration {
	if p.Every > 0 {
		return max(0, min(p.LongestHold(), p.Lease()-p.Every*3/2))
	}
	return p.LongestHold()
}

// LongestHold returns how long a reply can be held: less than its client waits or, if that is longer than a lease, for
// longer than that, so that another order comes meanwhile.
func (p *Passport) LongestHold() time.Duration {
	if p.Patience > 0 {
		return p.Patience - 300*time.Millisecond
	}
	return p.Lease() + p.Lead + 800*time.Millisecond
}

// OutlastsLease reports whether the client of an order waits for a reply for longer than a lease.
func (p *Passport) OutlastsLease() bool { return p.LongestHold() >= p.Lease()+200*time.Millisecond }
