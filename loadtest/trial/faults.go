package trial

import (
	"fmt"
	"strconv"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A fault is what a cell does to the shop.
type fault struct {
	name, does   string
	quick, crowd bool
	needs        []func(*Passport) string // why it cannot be had; "" if it can
	play         func(*bench) string      // returns why the fault did not happen, "" if it did
}

// notAsked says why the fault cannot be had.
func (f *fault) notAsked(p *Passport) string {
	for _, need := range f.needs {
		if why := need(p); why != "" {
			return why
		}
	}
	return ""
}

// faultsFor lists the faults. Those that lose a command are one for each command of a plain sale.
func faultsFor(p *Passport) []fault {
	faults := []fault{
		{name: "one-instance", does: "a crowd buys at a", quick: true, crowd: true, play: crowdAt(atA)},
		{name: "two-instances", does: "a crowd buys at a and at b", quick: true, crowd: true, play: crowdAt(atA, atB)},
		{name: "slow-work", does: "Anna works for longer than a lease while Bert comes", quick: true,
			needs: needs(aWindow, aLease, aHold), play: slowWork},
		{name: "pause", does: "a is stopped for longer than a lease before Anna's write", quick: true,
			needs: needs(aWindow, aLongReply), play: whileHeld(pause)},
		{name: "late", does: "Anna's write lands after the lease", quick: true, play: late},
		{name: "crash 1", does: "a is killed when Anna has acquired", quick: true, needs: needs(aLock), play: crashAcquired},
		{name: "crash 2", does: "a is killed before Anna's write", quick: true, play: crashAtWrite},
		{name: "late-release", does: "Anna's release comes when Bert has the lock", quick: true,
			needs: needs(aLock, aWindow, aRelease, aTTL), play: lateRelease(0)},
		{name: "check-delete-gap", does: "between the look and the delete of Anna's release Bert gets the lock", quick: true,
			needs: needs(aLock, aWindow, aRelease, aTTL, twoReleases), play: lateRelease(1)},
	}
	for k, s := range p.steps {
		for _, lose := range []struct {
			name, what string
			does       schedule.Decision
		}{{"request-lost", "is lost before it reaches the Redis", schedule.LostRequest},
			{"reply-lost", "is carried out, and its reply lost", schedule.LostReply}} {
			faults = append(faults, fault{name: lose.name + " " + strconv.Itoa(k+1),
				does:  fmt.Sprintf("command %d of Anna's sale, %s, %s", k+1, s.shape, lose.what),
				quick: p.acquires[s.shape] || p.releases[s.shape], play: lost(k, lose.does)})
		}
	}
	return append(faults,
		fault{name: "late-acquire", does: "an acquire arrives after its caller gave up", needs: needs(aLock),
			play: lateAcquire},
		fault{name: "renewals-lost", does: "Anna's renewals are lost", needs: needs(aLock, aRenewal, aWindow),
			play: renewalsLost},
		fault{name: "hang-up 1", does: "Anna hangs up while she waits", quick: true, needs: needs(aLock, aWindow),
			play: hangUpWaiting},
		fault{name: "hang-up 2", does: "Anna hangs up while a works for her", quick: true, needs: needs(aWindow),
			play: whileHeld(hangUpWorking)},
		fault{name: "waiter-unheard 1", does: "the message to a waiter is lost", needs: needs(aLock, aWindow, aMessage),
			play: waiterUnheard(func(cmd *wire.Command) bool { return cmd.Message }, schedule.Refuse)},
		fault{name: "waiter-unheard 2", does: "a waiter's subscription comes after the release",
			needs: needs(aLock, aWindow, aMessage),
			play:  waiterUnheard(func(cmd *wire.Command) bool { return cmd.Subscribes }, schedule.Pass)},
		fault{name: "key-removed 1", does: "the lock's key is removed while Anna has it, and Bert comes", quick: true,
			needs: needs(aLock, aWindow), play: whileHeld(keyRemoved(false))},
		fault{name: "key-removed 2", does: "the lock's key is removed while Anna has it, and Bert comes after a renewal",
			quick: true, needs: needs(aLock, aWindow, aRenewal, aLongHold), play: whileHeld(keyRemoved(true))},
		fault{name: "busy", does: "somebody else has the lock, and keeps it", quick: true, needs: needs(aLock, aWindow),
			play: busy},
		fault{name: "server-restart", does: "the Redis restarts with the stock alone", needs: needs(aWindow),
			play: whileHeld(serverRestart)},
		fault{name: "cut-off", does: "a cannot reach the Redis for longer than a lease", needs: needs(aWindow),
			play: whileHeld(cutOff)},
	)
}

func needs(all ...func(*Passport) string) []func(*Passport) string { return all }

func aLock(p *Passport) string { return either(len(p.Locks) > 0, "", "there is no lock in this Redis") }

func aTTL(p *Passport) string { return either(p.TTL > 0, "", "the lock has no TTL") }

func aWindow(p *Passport) string {
	return either(p.beforeWrite() != nil, "", "the stock is written by the first command of a sale")
}

func aRelease(p *Passport) string {
	return either(len(p.afterWrite()) > 0, "", "no command of its own releases the lock after the write")
}

func twoReleases(p *Passport) string {
	return either(len(p.afterWrite()) > 1, "", "the lock is released by one command")
}

func aRenewal(p *Passport) string {
	switch {
	case p.Every == 0:
		return "the lock is not renewed"
	case p.Shared:
		return "renewals share a connection with the sale"
	}
	return ""
}

// aLongHold asks for a client that waits for a reply until its lock is renewed.
func aLongHold(p *Passport) string {
	return either(p.hold() >= p.Every*3/2, "", "your client gives up on a reply before its lock is renewed")
}

func aMessage(p *Passport) string { return either(p.messages, "", "waiters get no messages") }

// aLease asks for a lock that ends by itself, if there is a lock.
func aLease(p *Passport) string { return either(len(p.Locks) == 0, "", aTTL(p)) }

// aLongReply asks for a client that waits for a reply longer than the lease lasts.
func aLongReply(p *Passport) string {
	if p.hold() >= p.lease()+200*time.Millisecond {
		return ""
	}
	return fmt.Sprintf("your client gives up on a reply after %s, and a lease lasts %s: start the shop with a shorter "+
		"lease or a longer timeout for Redis", p.Patience.Round(100*time.Millisecond), p.TTL)
}

// aHold asks for a way to make an order slow.
func aHold(p *Passport) string {
	switch why := aLongReply(p); {
	case p.slow:
	case why != "":
		return why + ", or tell how an order is made slow: --slow 'POST /decrease?work={ms}'"
	case p.Shared:
		return "renewals share a connection with the sale, so that they would be held too: tell how an order is made " +
			"slow: --slow 'POST /decrease?work={ms}'"
	}
	return ""
}

// hold is for how long a reply can be held.
func (p *Passport) hold() time.Duration {
	if p.Patience > 0 {
		return p.Patience - 300*time.Millisecond
	}
	return p.lease() + 800*time.Millisecond
}
