package schedule

import (
	"cmp"
	"strconv"
)

// A Step is one decision about what happens next.
type Step struct {
	Kind Kind
	Who  int // the client or, for a fault of a server, the lock server; from 0
	Nth  int // which of the client's waiting commands, from 0, in the order of [Gate.Of]
}

// A Kind is what a step does.
type Kind uint8

// All kinds are faults except Grant, Time, Arrive and NodeBack.
const (
	Grant       Kind = iota // a command is carried out, or a message delivered
	Time                    // time passes, until a client moves or a key expires
	Expiry                  // the same, while commands wait that could be carried out
	Hold                    // one client's commands wait while time passes, until its next grant
	CrashBefore             // the client dies before its commands are sent
	CrashAfter              // the client dies after a command was carried out
	LoseRequest             // a command does not reach the server; its client gets a timeout
	LoseReply               // a command is carried out, and its client gets a timeout
	Late                    // a command is in flight until its client gets a timeout, and may still arrive
	Drop                    // a message of a subscription is lost
	GiveUp                  // the caller of an order has gone
	Work                    // a command is carried out, and its reply waits while time passes
	Arrive                  // a late command arrives: the end of a fault
	NodeDown                // a lock server cannot be reached
	NodeBack                // it is back, with its data: the end of a fault
	NodeEmpty               // a lock server restarts without its data
	ClockJump               // a lock server's clock jumps by a TTL, so all its leases expire
)

// verbs name the kinds in a trace, except Grant, and Work, which no trace has. The subject follows: crash-a.
var verbs = [...]string{
	Time: "time", Expiry: "expiry", Hold: "hold", CrashBefore: "crash", CrashAfter: "crash-after",
	LoseRequest: "lose-request", LoseReply: "lose-reply", Late: "late", Drop: "drop", GiveUp: "give-up", Arrive: "arrive",
	NodeDown: "node-down", NodeBack: "node-back", NodeEmpty: "node-empty", ClockJump: "clock-jump",
}

// Verb returns the word of a kind in a trace, "" for [Grant].
func (k Kind) Verb() string { return verbs[k] }

// clientNames has a letter for each client that a trace can name.
const clientNames = "abc"

// Person returns the name of a client's buyer: Anna at a, Bert at b. Others have the name of the client.
func Person(who int) string {
	switch who {
	case 0:
		return "Anna"
	case 1:
		return "Bert"
	default:
		return ClientName(who)
	}
}

// ClientName returns the name of a client, a for 0.
func ClientName(who int) string { return clientNames[who : who+1] }

// IsFault reports whether the step is a fault.
func (s Step) IsFault() bool { return s.Kind > Time && s.Kind != NodeBack && s.Kind != Arrive }

// ByClient reports whether a client, or its caller, takes the step.
func (s Step) ByClient() bool { return s.NamesClient() && s.Kind != Hold }

// NamesClient reports whether Who is a client.
func (s Step) NamesClient() bool { return !s.passesTime() && !s.OfServer() }

// OfServer reports whether Who is a lock server.
func (s Step) OfServer() bool { return s.Kind >= NodeDown }

// passesTime reports whether the step is about time, and so names no client or server.
func (s Step) passesTime() bool { return s.Kind == Time || s.Kind == Expiry }

// Compare orders steps: commands before time and faults, and a before b.
func (s Step) Compare(other Step) int {
	return cmp.Or(int(s.Kind)-int(other.Kind), s.Who-other.Who, s.Nth-other.Nth)
}

// String returns the step in the notation of a trace.
func (s Step) String() string {
	switch {
	case s.passesTime():
		return verbs[s.Kind]
	case s.OfServer():
		return verbs[s.Kind] + "-" + strconv.Itoa(s.Who+1)
	case s.Kind == Grant:
		return s.sender()
	}
	return verbs[s.Kind] + "-" + s.sender()
}

// sender names the client, with a digit for a command other than its first.
func (s Step) sender() string {
	if s.Nth == 0 {
		return ClientName(s.Who)
	}
	return ClientName(s.Who) + strconv.Itoa(s.Nth+1)
}
