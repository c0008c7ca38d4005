package replay

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Step is one decision of the explorer's scheduler. A test compares what is read here with what the explorer reads:
// the load test shares no code with the service.
type Step struct {
	Kind Kind
	Who  int // the client, or for a fault of a server the lock server, both from 0
	Nth  int // which of the client's waiting commands, from 0
}

// A Kind says what a step does.
type Kind uint8

// The kinds of steps.
const (
	Grant       Kind = iota // a command is carried out, or a message delivered
	Time                    // time passes, until somebody moves or a key expires
	Expiry                  // the same, while commands wait that could be carried out
	Hold                    // the commands of one client wait while time passes; its next grant ends that
	CrashBefore             // the client dies before its commands are sent
	CrashAfter              // the client dies after a command was carried out
	LoseRequest             // a command does not reach the server
	LoseReply               // a command is carried out, and its reply does not come
	Late                    // a command is on its way until its client gives it up
	Drop                    // a message of a subscription is lost
	GiveUp                  // the caller of an order has gone
	Arrive                  // a late command arrives
	NodeDown                // a lock server cannot be reached
	NodeBack                // it is back, with its data
	NodeEmpty               // a lock server loses its data
	ClockJump               // a lock server's clock jumps
)

// verbs are the kinds as a trace names them. The subject follows: crash-a.
var verbs = map[Kind]string{
	Time: "time", Expiry: "expiry", Hold: "hold", CrashBefore: "crash", CrashAfter: "crash-after",
	LoseRequest: "lose-request", LoseReply: "lose-reply", Late: "late", Arrive: "arrive", Drop: "drop", GiveUp: "give-up",
	NodeDown: "node-down", NodeBack: "node-back", NodeEmpty: "node-empty", ClockJump: "clock-jump",
}

// isOfClient reports whether the step names a client.
func (s Step) isOfClient() bool { return s.Kind < NodeDown && s.Kind != Time && s.Kind != Expiry }

// clientNames are the names of the clients, and of their instances.
const clientNames = "abc"

// String returns the step as a trace has it.
func (s Step) String() string {
	switch {
	case s.Kind == Time || s.Kind == Expiry:
		return verbs[s.Kind]
	case s.Kind >= NodeDown:
		return fmt.Sprintf("%s-%d", verbs[s.Kind], s.Who+1)
	}
	subject := clientNames[s.Who : s.Who+1]
	if s.Nth > 0 {
		subject += strconv.Itoa(s.Nth + 1)
	}
	if s.Kind == Grant {
		return subject
	}
	return verbs[s.Kind] + "-" + subject
}

// A Trace is one schedule of one rung, such as v3:aaaa.expiry.ba.
type Trace struct {
	Rung  string
	Steps []Step
}

// String returns the trace as [ParseTrace] reads it.
func (t Trace) String() string {
	var line strings.Builder
	line.WriteString(t.Rung + ":")
	for i, step := range t.Steps {
		if i > 0 && (step.Kind != Grant || t.Steps[i-1].Kind != Grant) {
			line.WriteByte('.')
		}
		line.WriteString(step.String())
	}
	return line.String()
}

// clients returns how many clients the trace has: two at least.
func (t Trace) clients() int {
	n := 2
	for _, s := range t.Steps {
		if s.isOfClient() {
			n = max(n, s.Who+1)
		}
	}
	return n
}

// Virtual returns why the trace can be run in virtual time alone; empty if it can be replayed.
func (t Trace) Virtual() string {
	if strings.Contains(t.Rung, "/") {
		return "virtual only: a replay has two orders of one unit each, and a free lock"
	}
	for _, s := range t.Steps {
		switch s.Kind {
		case ClockJump:
			return "virtual only: the clock of one real server cannot be made to jump"
		case Late, Arrive:
			return "virtual only: a wire ends with the connection of its client, and what waits there is never sent on"
		}
	}
	return ""
}

// ErrTrace says that a text is no trace.
var ErrTrace = errors.New("a trace is a rung and its steps, such as v3:aaaa.expiry.ba")

// ParseTrace reads a trace. It returns ErrTrace, with what is wrong.
func ParseTrace(text string) (Trace, error) {
	rung, steps, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok || rung == "" {
		return Trace{}, fmt.Errorf("%w; not %q", ErrTrace, text)
	}
	t := Trace{Rung: rung}
	if steps == "" {
		return t, nil
	}
	for word := range strings.SplitSeq(steps, ".") {
		parsed, ok := parseWord(word)
		if !ok {
			return Trace{}, fmt.Errorf("%w; %q is no step", ErrTrace, word)
		}
		t.Steps = append(t.Steps, parsed...)
	}
	return t, nil
}

// parseWord reads what stands between two dots of a trace.
func parseWord(word string) ([]Step, bool) {
	if grants, ok := parseGrants(word); ok {
		return grants, true
	}
	for _, kind := range longestFirst() {
		subject, ok := strings.CutPrefix(word, verbs[kind])
		if !ok {
			continue
		}
		if kind == Time || kind == Expiry {
			return []Step{{Kind: kind}}, subject == ""
		}
		subject, dash := strings.CutPrefix(subject, "-")
		if kind >= NodeDown {
			n, err := strconv.Atoi(subject)
			return []Step{{Kind: kind, Who: n - 1}}, dash && err == nil && n > 0
		}
		grants, ok := parseGrants(subject)
		if !dash || !ok || len(grants) != 1 {
			return nil, false
		}
		return []Step{{Kind: kind, Who: grants[0].Who, Nth: grants[0].Nth}}, true
	}
	return nil, false
}

// longestFirst returns the kinds that have a verb, so that crash-after comes before crash.
func longestFirst() []Kind {
	kinds := make([]Kind, 0, len(verbs))
	for kind := range verbs {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return len(verbs[b]) - len(verbs[a]) })
	return kinds
}

// parseGrants reads letters of clients, each with its digit if there is one.
func parseGrants(word string) (steps []Step, ok bool) {
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
