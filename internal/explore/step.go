package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Step is one decision of the scheduler.
type Step struct {
	Kind Kind
	Who  int // the client, or for a fault of a server the lock server, both from 0
	Nth  int // which of the client's waiting commands, from 0
}

// A Kind says what a step does.
type Kind uint8

// The kinds of steps. All but the first two are faults.
const (
	Grant       Kind = iota // a command is carried out, or a message delivered
	Time                    // time passes, until somebody moves or a key expires
	Expiry                  // the same, while commands wait that could be carried out
	Hold                    // the commands of one client wait while time passes; its next grant ends that
	CrashBefore             // the client dies before its commands are sent
	CrashAfter              // the client dies after a command was carried out
	LoseRequest             // a command does not reach the server; its client gets a timeout
	LoseReply               // a command is carried out, and its client gets a timeout
	Late                    // a command is on its way until its client gets a timeout, and may still arrive
	Drop                    // a message of a subscription is lost
	GiveUp                  // the caller of an order has gone
	Arrive                  // a late command arrives: no fault, but the rest of one
	NodeDown                // a lock server cannot be reached
	NodeBack                // it is back, with its data: no fault, but its end
	NodeEmpty               // a lock server restarts without its data
	ClockJump               // a lock server's clock jumps by a TTL: all leases there expire
)

// verbs are the kinds as a trace names them. The subject follows: crash-a.
var verbs = map[Kind]string{
	Time: "time", Expiry: "expiry", Hold: "hold", CrashBefore: "crash", CrashAfter: "crash-after",
	LoseRequest: "lose-request", LoseReply: "lose-reply", Late: "late", Arrive: "arrive", Drop: "drop", GiveUp: "give-up",
	NodeDown: "node-down", NodeBack: "node-back", NodeEmpty: "node-empty", ClockJump: "clock-jump",
}

// isFault reports whether a step counts against the bound on faults.
func (s Step) isFault() bool { return s.Kind > Time && s.Kind != NodeBack && s.Kind != Arrive }

// byClient reports whether the step is one of a client.
func (s Step) byClient() bool { return s.Kind == Grant || s.Kind > Hold && s.Kind <= Arrive }

// compare orders steps: commands before time and faults, and a before b.
func (s Step) compare(other Step) int {
	return cmp.Or(int(s.Kind)-int(other.Kind), s.Who-other.Who, s.Nth-other.Nth)
}

// names of the clients.
const clientNames = "abc"

func (s Step) subject() string {
	nth := ""
	if s.Nth > 0 {
		nth = strconv.Itoa(s.Nth + 1)
	}
	if s.Kind >= NodeDown {
		return strconv.Itoa(s.Who + 1)
	}
	return clientNames[s.Who:s.Who+1] + nth
}

// String returns the step as a trace has it.
func (s Step) String() string {
	switch s.Kind {
	case Grant:
		return s.subject()
	case Time, Expiry:
		return verbs[s.Kind]
	}
	return verbs[s.Kind] + "-" + s.subject()
}

// A Trace is one schedule of one rung, in a line that can be pasted anywhere: v3:aaaa.expiry.b.a
//
// Before the colon stands the rung. Letters are clients whose next command is carried out; a digit after one says which
// of the commands that it has waiting, counted from 1. Words are time that passes, and faults. A situation that is not
// the usual one follows the rung, as in v9-naive/two-products:abba.
type Trace struct {
	Rung      string
	Situation string // "" for the usual one
	Steps     []Step
}

// String returns the trace as [ParseTrace] reads it.
func (t Trace) String() string {
	var line strings.Builder
	line.WriteString(t.Rung)
	if t.Situation != "" {
		line.WriteString("/" + t.Situation)
	}
	line.WriteByte(':')
	for i, step := range t.Steps {
		if i > 0 && (step.Kind != Grant || t.Steps[i-1].Kind != Grant) {
			line.WriteByte('.')
		}
		line.WriteString(step.String())
	}
	return line.String()
}

// ErrTrace says that a text is no trace.
var ErrTrace = errors.New("a trace is a rung and its steps, such as v3:aaaa.expiry.b.a")

// ParseTrace reads a trace. It returns ErrTrace, with what is wrong.
func ParseTrace(text string) (Trace, error) {
	head, steps, ok := strings.Cut(strings.TrimSpace(text), ":")
	rung, situation, within := strings.Cut(head, "/")
	if !ok || rung == "" || within && situation == "" {
		return Trace{}, fmt.Errorf("%w; not %q", ErrTrace, text)
	}
	t := Trace{Rung: rung, Situation: situation}
	if steps == "" {
		return t, nil
	}
	for word := range strings.SplitSeq(steps, ".") {
		parsed, err := parseSteps(word)
		if err != nil {
			return Trace{}, err
		}
		t.Steps = append(t.Steps, parsed...)
	}
	return t, nil
}

// parseSteps reads one word between the dots of a trace.
func parseSteps(word string) ([]Step, error) {
	if grants, ok := parseGrants(word); ok {
		return grants, nil
	}
	kinds := make([]Kind, 0, len(verbs))
	for kind := range verbs {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return len(verbs[b]) - len(verbs[a]) }) // crash-after before crash
	for _, kind := range kinds {
		subject, ok := strings.CutPrefix(word, verbs[kind])
		switch {
		case !ok:
		case kind == Time || kind == Expiry:
			if subject == "" {
				return []Step{{Kind: kind}}, nil
			}
		case kind >= NodeDown:
			if n, err := strconv.Atoi(strings.TrimPrefix(subject, "-")); err == nil && n > 0 {
				return []Step{{Kind: kind, Who: n - 1}}, nil
			}
		default:
			if grants, ok := parseGrants(strings.TrimPrefix(subject, "-")); ok && len(grants) == 1 {
				return []Step{{Kind: kind, Who: grants[0].Who, Nth: grants[0].Nth}}, nil
			}
		}
	}
	return nil, fmt.Errorf("%w; %q is no step", ErrTrace, word)
}

// parseGrants reads letters of clients, each with its digit if there is one.
func parseGrants(word string) ([]Step, bool) {
	var steps []Step
	for i := 0; i < len(word); i++ {
		who := strings.IndexByte(clientNames, word[i])
		if who < 0 {
			return nil, false
		}
		step := Step{Who: who}
		if i+1 < len(word) && word[i+1] >= '1' && word[i+1] <= '9' {
			i++
			step.Nth = int(word[i] - '1')
		}
		steps = append(steps, step)
	}
	return steps, len(steps) > 0
}
