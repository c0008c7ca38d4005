package explore

import (
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
)

// Bounds limit what is explored. Results hold within them, and not beyond.
type Bounds struct {
	Clients int             // each sells one unit, in a process of its own
	Faults  int             // in one schedule
	Kinds   []schedule.Kind // of faults
	// Situation names what the clients order, and what they find; "" is the usual one, where each orders one unit. See
	// [Situations].
	Situation string
	// Schedules limits the schedules of one cell; 0: no limit.
	Schedules int
	// UntilSurprise ends the search with the first schedule that breaks a verdict that should hold, and then looks for the
	// shortest of that verdict alone.
	UntilSurprise bool
	// Plain also tries commuting steps in both orders, for comparison.
	Plain bool
}

// The times of a schedule. The clock is virtual: only their relations matter.
const (
	leaseTTL      = 2 * time.Second
	clientTimeout = 470 * time.Millisecond  // of a command without a reply: no multiple of it is a timer's time
	retryDelay    = time.Second             // the longest between two polls
	liveMargin    = 2 * time.Second         // a new order acquires the lock within a lease and this
	restartTime   = time.Millisecond        // of a server, so that its clock does not stand still
	horizon       = 10 * time.Second        // an order without a step for this long never ends
	longestWay    = 3 * time.Second         // of a late command, which is then lost
	sweepReach    = 1400 * time.Millisecond // a command that arrives later than this after its sending is not swept
)

// LongestWait limits how long an order waits for a lock, on rungs that wait. It is longer than a lease.
const LongestWait = 3 * time.Second

const (
	// maxPauses limits how often time passes in one schedule while a client has a command ready that was not sent: before
	// its order begins, or while it is held.
	maxPauses = 4
	// maxSteps limits a schedule. A longer one counts as never ending.
	maxSteps = 250
)

const product = "10000"

// Stocked is the initial stock, unless the situation needs more.
const Stocked = 1

// DefaultBounds are those of two clients that want the last unit.
func DefaultBounds() Bounds { return Bounds{Clients: 2} }

// AreUsual reports whether these bounds have expectations: two clients, and one fault at most.
func (b Bounds) AreUsual() bool { return b.Clients == 2 && b.Faults <= 1 }

// A FaultKind is a kind of fault as selected on the command line.
type FaultKind struct {
	Name  string
	Does  string
	kinds []schedule.Kind
}

// FaultKinds lists the kinds of faults.
var FaultKinds = []FaultKind{
	{"expiry", "time passes to just past the next expiry or timer, even while commands wait",
		[]schedule.Kind{schedule.Expiry}},
	{"hold", "the commands of one client wait while time passes", []schedule.Kind{schedule.Hold}},
	{"crash", "a client dies before or after a command", []schedule.Kind{schedule.CrashBefore, schedule.CrashAfter}},
	{"lose-request", "a command does not reach its server", []schedule.Kind{schedule.LoseRequest}},
	{"lose-reply", "a command is carried out, but its reply is lost", []schedule.Kind{schedule.LoseReply}},
	{"late", "a command arrives after its client has given it up, or never", []schedule.Kind{schedule.Late}},
	{"drop", "a message of a subscription is lost", []schedule.Kind{schedule.Drop}},
	{"give-up", "the caller of an order has gone", []schedule.Kind{schedule.GiveUp}},
	{"node-down", "a lock server cannot be reached, for a time or for ever", []schedule.Kind{schedule.NodeDown}},
	{"node-empty", "a lock server restarts without its data", []schedule.Kind{schedule.NodeEmpty}},
	{"clock-jump", "the clock of a lock server jumps by a lease", []schedule.Kind{schedule.ClockJump}},
}

// With returns the bounds with that many faults of these kinds.
func (b Bounds) With(faults int, kinds ...FaultKind) Bounds {
	b.Faults, b.Kinds = faults, nil
	for _, k := range kinds {
		b.Kinds = append(b.Kinds, k.kinds...)
	}
	return b
}

func allKinds() []schedule.Kind { return Bounds{}.With(0, FaultKinds...).Kinds }

// FaultNames names the kinds of faults that the bounds allow, "none" if none.
func FaultNames(b Bounds) string {
	if b.Faults == 0 {
		return "none"
	}
	var names []string
	for _, k := range FaultKinds {
		if slices.Contains(b.Kinds, k.kinds[0]) {
			names = append(names, k.Name)
		}
	}
	return strings.Join(names, "+")
}
