package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
)

// A fault is injected into a cell. docs/try.md describes each.
type fault struct {
	name  string
	quick bool
	some  string                     // of a fault at each command: those that --quick plays; else ""
	needs []requirement              // besides those of its line
	line  string                     // "" if there is none
	lines []string                   // one for each moment of the fault, played one after the other: see [Trial.each]
	play  func(*record.Bench) string // nil if there is a line; returns why the fault did not happen, "" if it did
	units int64                      // that are put; 0: the usual number
}

// A requirement is a property that a shop needs for a fault.
type requirement struct {
	what string                      // "" if it depends on the line alone
	why  func(*sale.Passport) string // returns why a fault does not apply to a lock, "" if it does
}

// The requirements.
var (
	needLock      = requirement{"a lock", aLock}
	needTTL       = requirement{"a lease that expires", aTTL}
	needLease     = requirement{"no lock, or a lease that expires", aLease}
	needWindow    = requirement{"a command before the write", aWindow}
	needWrite     = requirement{"", aWrite} // a stock in a database has its requests instead
	needRelease   = requirement{"a release after the write", aRelease}
	needTwo       = requirement{"a release by two commands", twoReleases}
	needRenewal   = requirement{"renewals on a connection of their own", aRenewal}
	needMessage   = requirement{"messages to waiters", aMessage}
	needLongReply = requirement{"a client that waits longer than a lease for a reply", aLongReply}
	needLongHold  = requirement{"a client that waits until a renewal for a reply", aLongHold}
	needSlowOrder = requirement{"a client that waits long enough for a reply, or --slow", aSlowOrder}
)

// faultsFor lists the faults. Those that lose or refuse a command, or delay its reply, exist for each command of a
// plain sale.
func faultsFor(p *sale.Passport) []fault {
	faults := []fault{
		{name: "one-instance", quick: true, line: "crowd-a"},
		{name: "two-instances", quick: true, line: "crowd-ab"},
		{name: "slow-work", quick: true, needs: []requirement{needWindow, needLease, needSlowOrder}, line: p.SlowLine()},
		{name: "pause", quick: true, needs: []requirement{needWindow}, line: "a<read.stop-a.expiry.b>end.continue-a.a>end"},
		{name: "late", quick: true, line: "a>write.late-a.expiry.b>end.arrive-a"},
		{name: "crash 1", quick: true, line: "a<acquired.crash-a"},
		{name: "crash 2", quick: true, line: "a>write.crash-a"},
		{name: "delayed-release 1", quick: true, needs: []requirement{needLock, needWindow, needRelease, needTTL},
			line: "a>release.expiry.b<read.a>end.c@a.b>end"},
		{name: "delayed-release 2", quick: true, needs: []requirement{needLock, needWindow, needRelease, needTTL},
			line: "a>release.expiry.b@a<read.a>end.c@b.b>end"},
		{name: "check-delete-gap", quick: true, needs: []requirement{needLock, needWindow, needRelease, needTTL},
			line: "a>release2.expiry.b<read.a>end.c@a.b>end"},
		{name: "same-instance", quick: true, needs: []requirement{needLock, needWindow, needRelease, needTTL, needLongReply},
			line: "a<write.expiry.b@a<read.a>end.c@b.b>end"},
	}
	if p.Slow {
		faults[2].line, faults[2].play = "", slowWork
	}
	if p.Elsewhere {
		faults = atRequests(faults, p)
	}
	const begins, frames = "it acquires", "it acquires or releases"
	for k, s := range p.Numbered() {
		number, takes := strconv.Itoa(k+1), p.Acquires[s.Shape]
		quick := takes || p.Releases[s.Shape]
		faults = append(faults,
			fault{name: "request-lost " + number, quick: quick, some: frames,
				line: "a>" + number + ".lose-request-a.a>end.b>end"},
			fault{name: "reply-lost " + number, quick: quick, some: frames,
				line: "a>" + number + ".lose-reply-a.a>end.b>end"},
			fault{name: "delayed-reply " + number, quick: takes, some: begins,
				line: "a<" + number + ".time.a>end.b>end"},
			fault{name: "error-reply " + number, quick: takes, some: begins, play: errorReply(k + 1)})
	}
	held, again := "a<read.remove.b<read", ""
	if aRenewal(p) == "" {
		again = ".a<renewal"
	}
	return append(faults,
		fault{name: "contended-acquire 1", quick: true, line: "b<read.a>acquire.lose-request-a.a>end.b>end"},
		fault{name: "contended-acquire 2", quick: true, line: "b<read.a>acquire.lose-reply-a.a>end.b>end"},
		fault{name: "contended-acquire 3", quick: true, line: "b<read.a<acquire.time.a>end.b>end"},
		fault{name: "crash 3", needs: []requirement{needLock}, line: "b<read.a>waits.crash-a.b>end"},
		fault{name: "late-acquire", line: "a>acquire.late-a.cut-a.join-a.a>end.arrive-a.b>end"},
		fault{name: "renewals-lost", needs: []requirement{needLock, needRenewal, needWindow}, play: renewalsLost},
		fault{name: "hang-up 1", quick: true, needs: []requirement{needLock}, line: "b<read.a>waits.give-up-a.b>end.a>end"},
		fault{name: "hang-up 2", quick: true, line: "a<read.give-up-a.a>end.b>end"},
		fault{name: "waiter-unheard 1", needs: []requirement{needLock}, line: "a<read.b>waits.drop-b.a>end.b>end"},
		fault{name: "waiter-unheard 2", needs: []requirement{needLock}, line: "a<read.b>subscribe.a>end.b>end"},
		fault{name: "key-removed 1", quick: true, needs: []requirement{needLock}, line: held + again + ".a>end.b>end"},
		fault{name: "key-removed 2", quick: true, needs: []requirement{needLock, needWindow, needRenewal, needLongHold},
			line: "a<read.remove.a<renewal.b<read.a<renewal.a>end.b>end"},
		fault{name: "busy", quick: true, needs: []requirement{needLock, needWindow}, line: "take.a>end.remove"},
		fault{name: "after-release", quick: true, needs: []requirement{needLock}, lines: afterRelease(p)},
		fault{name: "server-restart", line: "a<read.restart.b>end.a>end"},
		fault{name: "cut-off", line: "a<read.cut-a.expiry.b>end.join-a.a>end"},
	)
}

// atRequests moves faults to the requests of the sale to its database, or their replies, which show when an order
// works.
func atRequests(faults []fault, p *sale.Passport) []fault {
	of := &p.ToDatabase
	for i := range faults {
		switch f := &faults[i]; f.name {
		case "slow-work":
			if f.play == nil {
				f.line, f.needs, f.lines = "", []requirement{needLease}, linesAt("a<db%d.b>end.a>end", of.Replies)
			}
		case "late":
			f.line, f.lines = "", linesAt("a>db%d.b>end.a>end", of.Under)
		case "crash 2":
			f.line, f.lines = "", crashes(of)
		}
	}
	return faults
}

// crashes returns the lines that kill a before each request that is answered, and after the last reply: what a request
// did is in the database when the next one is due.
func crashes(r *sale.Requests) []string {
	var numbers []int
	for k := range r.Answered {
		numbers = append(numbers, k+1)
	}
	lines := linesAt("a>db%d.crash-a", numbers)
	if r.Answered > 0 {
		lines = append(lines, fmt.Sprintf("a<db%d.crash-a", r.Answered))
	}
	return lines
}

// heldAfter is a line that holds a command of a sale after its release.
const heldAfter = "a>%d.b>end.a>end"

// afterRelease returns the lines that hold what a sale sends after its release.
func afterRelease(p *sale.Passport) []string {
	if p.Elsewhere {
		return linesAt("a>db%d.b>end.a>end", p.ToDatabase.After)
	}
	released := p.ReleasedAt()
	if len(released) == 0 {
		return []string{}
	}
	var after []int
	for k := released[len(released)-1] + 1; k < len(p.Steps); k++ {
		after = append(after, k+1-p.Ahead)
	}
	return linesAt(heldAfter, after)
}

// parsed returns the parsed line of a fault, nil if it has none.
func (f *fault) parsed() schedule.Line {
	if f.line == "" {
		return nil
	}
	line, err := schedule.ParseLine(f.line)
	if err != nil {
		panic(err) // a test has parsed those of the table, and New the others
	}
	return line
}

// aShortLease requires a lease short enough for a cell to wait for. Crowds and after-release wait for none, and after a
// crash the trial expires it, as its TTL would.
func (f *fault) aShortLease(p *sale.Passport) string {
	crash := strings.HasPrefix(f.name, "crash ") && p.TTL > 0
	if f.parsed().Crowd() > 0 || f.name == "after-release" || crash || p.Lease() <= sale.MostLease {
		return ""
	}
	return fmt.Sprintf("a lease lasts %s, and the cell waits for its expiry: start the shop with one of 2 s", p.Lease())
}

// whyNot returns why a fault does not apply to a shop, "" if it does.
func (f *fault) whyNot(p *sale.Passport) string {
	for _, need := range slices.Concat([]requirement{{why: f.aShortLease}}, f.needs, needsOf(f.parsed())) {
		if why := need.why(p); why != "" {
			return why
		}
	}
	return ""
}

func aLock(p *sale.Passport) string {
	switch {
	case len(p.Locks) > 0:
		return ""
	case p.Apart != "":
		return fmt.Sprintf("there is no lock that two orders share: each %s has one of its own", p.Apart)
	case p.Unseen:
		return sale.SharesUnseen
	case p.PerCustomer:
		return p.NeverMeet()
	}
	return "there is no lock in this Redis"
}

// aTTL requires a lease that expires while an order is held: by its TTL, or by its time, for which the trial waits.
func aTTL(p *sale.Passport) string {
	switch {
	case p.TTL > 0, p.InValue > 0 && aLongReply(p) == "":
		return ""
	case p.InValue > 0:
		return fmt.Sprintf("the lease is in the lock's %s, and the trial cannot expire it; %s", p.Where(), aLongReply(p))
	}
	return "the lock has no TTL"
}

func aWindow(p *sale.Passport) string {
	if p.Elsewhere && len(p.Locks) == 0 { // an order works from its first request on
		return cmp.Or(p.ToDatabase.Why, sale.Either(len(p.ToDatabase.Under) > 0, "", p.ToDatabase.String()))
	}
	return sale.Either(p.BeforeWrite() != nil, "", "the first command of a sale writes the stock")
}

func aWrite(p *sale.Passport) string {
	return sale.Either(p.Elsewhere, "the stock is not in this Redis, so its writes are not observed", "")
}

func aRelease(p *sale.Passport) string {
	return sale.Either(len(p.AfterWrite()) > 0, "", "no separate command releases the lock after the write")
}

func twoReleases(p *sale.Passport) string {
	return sale.Either(len(p.AfterWrite()) > 1, "", "the lock is released by one command")
}

func aRenewal(p *sale.Passport) string {
	switch {
	case p.Every == 0:
		return "the lock is not renewed"
	case p.Shared:
		return "renewals share a connection with the sale"
	}
	return ""
}

// aLongHold requires a client that waits for a reply until its lock is renewed.
func aLongHold(p *sale.Passport) string {
	return sale.Either(p.LongestHold() >= p.Every*3/2, "", "your client gives up on a reply before its lock is renewed")
}

func aMessage(p *sale.Passport) string {
	return sale.Either(p.Messages, "", "waiters receive no messages")
}

// aLease requires a lock, if there is one, to expire.
func aLease(p *sale.Passport) string { return sale.Either(len(p.Locks) == 0, "", aTTL(p)) }

// aLongReply requires a client that waits for a reply for longer than a lease.
func aLongReply(p *sale.Passport) string {
	if p.OutlastsLease() {
		return ""
	}
	return fmt.Sprintf("your client gives up on a reply after %s, and a lease lasts %s: start the shop with a shorter "+
		"lease or a longer Redis timeout", p.Patience.Round(100*time.Millisecond), p.Lease())
}

// aSlowOrder requires a way to make an order slow.
func aSlowOrder(p *sale.Passport) string {
	switch {
	case p.Slow:
	case !p.CanBeSlow():
		return aLongReply(p) + ", or give a slow order: --slow 'POST /decrease?work={ms}'"
	case p.Shared:
		return "renewals share the sale's connection, and would be held with it: give a slow order: --slow " +
			"'POST /decrease?work={ms}'"
	}
	return ""
}
