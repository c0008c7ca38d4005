package trial

import (
	"fmt"
	"strconv"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A fault is what a cell does to the shop. docs/try.md tells what each does.
type fault struct {
	name  string
	quick bool
	crowd int // buys at so many instances
	needs []requirement
	play  func(*bench) string // returns why the fault did not happen, "" if it did
}

// A requirement says why a fault cannot be had with such a lock, "" if it can.
type requirement func(*Passport) string

// faultsFor lists the faults. Those that lose or refuse a command, or delay its reply, are one for each command of a
// plain sale.
func faultsFor(p *Passport) []fault {
	faults := []fault{
		{name: "one-instance", quick: true, crowd: 1, play: crowdAt(1)},
		{name: "two-instances", quick: true, crowd: 2, play: crowdAt(2)},
		{name: "slow-work", quick: true, needs: []requirement{aWindow, aLease, aHold}, play: slowWork},
		{name: "pause", quick: true, needs: []requirement{aWindow, aLongReply}, play: whileHeld(pause)},
		{name: "late", quick: true, play: caughtAt(atWrite(schedule.ComesLate), late)},
		{name: "crash 1", quick: true, needs: []requirement{aLock}, play: caughtAt(onceAcquired, crash)},
		{name: "crash 2", quick: true, play: caughtAt(atWrite(schedule.Pass), crash)},
		{name: "late-release 1", quick: true, needs: []requirement{aLock, aWindow, aRelease, aTTL},
			play: caughtAt(atRelease(0), lateRelease(atB))},
		{name: "late-release 2", quick: true, needs: []requirement{aLock, aWindow, aRelease, aTTL},
			play: caughtAt(atRelease(0), lateRelease(atA))},
		{name: "check-delete-gap", quick: true, needs: []requirement{aLock, aWindow, aRelease, aTTL, twoReleases},
			play: caughtAt(atRelease(1), lateRelease(atB))},
		{name: "same-instance", quick: true, needs: []requirement{aLock, aWindow, aRelease, aTTL, aLongReply},
			play: caughtAt(onceWritten, sameInstance)},
	}
	for k, s := range p.steps {
		number, takes := " "+strconv.Itoa(k+1), p.acquires[s.shape]
		quick := takes || p.releases[s.shape]
		faults = append(faults,
			fault{name: "request-lost" + number, quick: quick,
				play: caughtAt(atStep(k, schedule.LostRequest, false), lost("command"+number+" lost"))},
			fault{name: "reply-lost" + number, quick: quick,
				play: caughtAt(atStep(k, schedule.LostReply, false), lost("the reply of command"+number+" lost"))},
			fault{name: "reply-late" + number, quick: takes, play: caughtAt(atStep(k, schedule.Pass, true), lateReply)},
			fault{name: "error-reply" + number, quick: takes,
				play: caughtAt(atStepRefused(k), lost("command"+number+" answered "+codeOf(p.refusal(&s))))})
	}
	for i, how := range []struct {
		text  string
		does  schedule.Decision
		reply bool
	}{
		{"its acquire lost", schedule.LostRequest, false},
		{"the reply to its acquire lost", schedule.LostReply, false},
		{"the reply to its acquire late", schedule.Pass, true},
	} {
		faults = append(faults, fault{name: "contended-acquire " + strconv.Itoa(i+1), quick: true,
			needs: []requirement{aLock, aWindow}, play: contendedAcquire(how.text, how.does, how.reply)})
	}
	return append(faults,
		fault{name: "crash 3", needs: []requirement{aLock, aWindow}, play: whileItWaits(dieWaiting)},
		fault{name: "late-acquire", needs: []requirement{aLock}, play: caughtAt(atAcquire, lateAcquire)},
		fault{name: "renewals-lost", needs: []requirement{aLock, aRenewal, aWindow}, play: renewalsLost},
		fault{name: "hang-up 1", quick: true, needs: []requirement{aLock, aWindow}, play: whileItWaits(hangUpWaiting)},
		fault{name: "hang-up 2", quick: true, needs: []requirement{aWindow}, play: whileHeld(hangUpWorking)},
		fault{name: "waiter-unheard 1", needs: []requirement{aLock, aWindow, aMessage},
			play: waiterUnheard(func(cmd *wire.Command) bool { return cmd.Message }, schedule.Refuse)},
		fault{name: "waiter-unheard 2", needs: []requirement{aLock, aWindow, aMessage},
			play: waiterUnheard(func(cmd *wire.Command) bool { return cmd.Subscribes }, schedule.Pass)},
		fault{name: "key-removed 1", quick: true, needs: []requirement{aLock, aWindow}, play: whileHeld(keyRemoved(false))},
		fault{name: "key-removed 2", quick: true, needs: []requirement{aLock, aWindow, aRenewal, aLongHold},
			play: whileHeld(keyRemoved(true))},
		fault{name: "busy", quick: true, needs: []requirement{aLock, aWindow}, play: busy},
		fault{name: "server-restart", needs: []requirement{aWindow}, play: whileHeld(serverRestart)},
		fault{name: "cut-off", needs: []requirement{aWindow}, play: whileHeld(cutOff)},
	)
}

// mostLease is the longest lease whose end a cell waits for.
const mostLease = time.Minute

// aShortLease asks for one whose end can be waited for. A crowd waits for none.
func (f *fault) aShortLease(p *Passport) string {
	if f.crowd > 0 || p.Lease() <= mostLease {
		return ""
	}
	return fmt.Sprintf("a lease lasts %s, and a cell waits for its end: start the shop with one of 2 s", p.Lease())
}

func aLock(p *Passport) string {
	switch {
	case len(p.Locks) > 0:
		return ""
	case p.Apart != "":
		return fmt.Sprintf("there is no lock that two orders share: each %s has one of its own", p.Apart)
	}
	return "there is no lock in this Redis"
}

func aTTL(p *Passport) string {
	switch {
	case p.TTL > 0:
		return ""
	case p.InValue > 0:
		return fmt.Sprintf("the lease is in the lock's %s, and the trial cannot end it", p.where())
	}
	return "the lock has no TTL"
}

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

func aMessage(p *Passport) string { return either(p.Messages, "", "waiters get no messages") }

// aLease asks for a lock that ends by itself, if there is a lock.
func aLease(p *Passport) string { return either(len(p.Locks) == 0, "", aTTL(p)) }

// aLongReply asks for a client that waits for a reply longer than the lease lasts.
func aLongReply(p *Passport) string {
	if p.hold() >= p.Lease()+200*time.Millisecond {
		return ""
	}
	return fmt.Sprintf("your client gives up on a reply after %s, and a lease lasts %s: start the shop with a shorter "+
		"lease or a longer timeout for Redis", p.Patience.Round(100*time.Millisecond), p.Lease())
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
	return p.Lease() + 800*time.Millisecond
}
