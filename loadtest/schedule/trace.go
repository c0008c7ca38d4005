package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Trace is one schedule of one rung, on a line that can be pasted anywhere: v3:aaaa.expiry.ba
//
// The rung comes before the colon. A letter is a client whose next command is carried out; a digit after it selects one
// of its waiting commands, counted from 1. Words stand for faults, and for time that passes. A situation other than the
// usual one follows the rung, as in v9-naive/two-products:abba.
type Trace struct {
	Rung      string
	Situation string // "" for the usual one
	Steps     []Step
}

// String returns the trace in the form that [ParseTrace] parses.
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

// MarshalText returns the trace as [Trace.String] does.
func (t Trace) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Clients returns the number of clients of a trace: at least two.
func (t Trace) Clients() int {
	n := 2
	for _, s := range t.Steps {
		if s.NamesClient() {
			n = max(n, s.Who+1)
		}
	}
	return n
}

// VirtualOnly returns why a trace can only be run in virtual time; "" if real processes can replay it.
func (t Trace) VirtualOnly() string {
	if t.Situation != "" {
		return "virtual only: a replay has two orders of one unit each, and a free lock"
	}
	for _, s := range t.Steps {
		if s.Kind == ClockJump {
			return "virtual only: the clock of one real server cannot be made to jump"
		}
	}
	return ""
}

// ErrTrace means that a text is not a trace.
var ErrTrace = errors.New("a trace is a rung and its steps, such as v3:aaaa.expiry.ba")

// ParseTrace parses a trace. For any other text it returns ErrTrace with what is wrong.
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
		parsed, err := parseWord(word)
		if err != nil {
			return Trace{}, fmt.Errorf("%w; %q is not a step: %w", ErrTrace, word, err)
		}
		t.Steps = append(t.Steps, parsed...)
	}
	return t, nil
}

// parseWord parses what is between two dots of a trace: commands, or one other step.
func parseWord(word string) ([]Step, error) {
	if grants, ok := parseGrants(word); ok {
		return grants, nil
	}
	verb, subject, named := word, "", false
	if at := strings.LastIndexByte(word, '-'); at >= 0 && !isVerb(word) {
		verb, subject, named = word[:at], word[at+1:], true
	}
	if !isVerb(verb) {
		return nil, fmt.Errorf("it names neither a client of %s nor a kind of step", clientNames)
	}
	step := Step{Kind: Kind(slices.Index(verbs[:], verb))}
	switch {
	case step.passesTime() && named:
		return nil, errors.New("time takes no client")
	case step.passesTime():
		return []Step{step}, nil
	case step.OfServer():
		n, err := strconv.Atoi(subject)
		if err != nil || n < 1 || subject != strconv.Itoa(n) {
			return nil, fmt.Errorf("it takes the number of a lock server, such as %s-1", verb)
		}
		step.Who = n - 1
		return []Step{step}, nil
	}
	sender, ok := parseGrants(subject)
	if !ok || len(sender) != 1 {
		return nil, fmt.Errorf("it takes one client, such as %s-a", verb)
	}
	step.Who, step.Nth = sender[0].Who, sender[0].Nth
	return []Step{step}, nil
}

func isVerb(word string) bool { return word != "" && slices.Contains(verbs[:], word) }

// parseGrants parses letters of clients, each with an optional digit.
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
