package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Line is a fault for any shop, step by step: a>write.late-a.expiry.b>end.arrive-a. It is like a trace, but without a
// rung: every shop sends its own commands, so orders proceed to marks in the sale instead. docs/explore.md lists the
// words.
type Line []Move

// A Move is a step of a line: a verb, or an order that proceeds to a mark.
type Move struct {
	Verb  string // "": the order proceeds
	Who   int    // the order, or the instance; -1: all
	At    int    // the instance that gets the order, unless it is already under way
	Mark  string // "": a new order polls for a moment
	Reply bool   // it proceeds until the command at the mark has been carried out and its reply waits
	Nth   int    // which of the order's waiting commands, from 0: with several connections there may be more than one
}

// Marks are points in a sale. Besides these, a number is a command of a plain sale, and db with a number is a request
// to the database, or its reply.
const (
	Acquire   = "acquire"   // the first attempt
	Acquired  = "acquired"  // the attempt that succeeded
	Read      = "read"      // the last command before the write
	Write     = "write"     // of the stock
	Release   = "release"   // its first command
	Release2  = "release2"  // its second command
	Renewal   = "renewal"   // concurrent with the sale
	Waits     = "waits"     // the order was not answered at once
	Subscribe = "subscribe" // of a waiter
	End       = "end"       // the order was answered
)

// Next is not written as a mark: a letter alone carries out the order's next command, and the order waits at the one
// after it, or until it is answered. With a digit it is that one of its waiting commands, and before < its reply waits.
const Next = "next"

var marks = []string{Acquire, Acquired, Read, Write, Release, Release2, Renewal, Waits, Subscribe, End}

// sides has the side of marks that allow only one: > is before the mark's command is carried out, < after it.
var sides = map[string]string{Acquired: "<", Renewal: "<", Waits: ">", End: ">"}

// orderVerbs concern an order, siteVerbs an instance, and plainVerbs all. The values of the first two are
// prerequisites: ">" is a command of the order at the wire, "." the order itself, and a word is another verb with the
// same letter.
var (
	orderVerbs = map[string]string{"lose-request": ">", "lose-reply": ">", "late": ">", "arrive": "late", "give-up": "."}
	siteVerbs  = map[string]string{"crash": "", "stop": "", "continue": "stop", "cut": "", "join": "cut", "drop": ""}
	plainVerbs = []string{"time", "expiry", "remove", "take", "restart"}
)

// instances are the letters of a line's instances.
const instances = "ab"

var errAlone = errors.New("a crowd must be the only step")

// ParseLine parses a line. Its error names what is wrong and what is valid, on one line.
func ParseLine(text string) (line Line, err error) {
	for word := range strings.SplitSeq(strings.TrimSpace(text), ".") {
		if letters, is := parseLetters(word); is {
			if line.Crowd() > 0 {
				return nil, fmt.Errorf("%q is not a step of a fault: %w", word, errAlone)
			}
			line = append(line, letters...)
			continue
		}
		m, err := parseMove(word)
		if err == nil {
			err = line.allows(m)
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a step of a fault: %w", word, err)
		}
		line = append(line, m)
	}
	return line, nil
}

// allows returns nil if the move can follow the line, else why it cannot.
func (l Line) allows(m Move) error {
	if l.Crowd() > 0 || m.Verb == "crowd" && len(l) > 0 {
		return errAlone
	}
	if m.Who < 0 {
		return nil
	}
	letter, needs, last := ClientName(m.Who), orderVerbs[m.Verb]+siteVerbs[m.Verb], l.lastOf(m.Who)
	switch {
	case m.Verb == "" && m.Mark == "" && last != nil:
		return fmt.Errorf("%s has already ordered", letter)
	case needs == ">" && !last.isAtWire():
		return fmt.Errorf("no command of %s is at the wire: put %s>write or another mark before it", letter, letter)
	case needs == "." && last == nil:
		return fmt.Errorf("%s has not ordered yet", letter)
	case len(needs) > 1 && !slices.ContainsFunc(l, func(o Move) bool { return o.Verb == needs && o.Who == m.Who }):
		return fmt.Errorf("put %s-%s before it", needs, letter)
	}
	return nil
}

// lastOf returns the last move of an order, nil if there is none. Renewals do not count.
func (l Line) lastOf(who int) (last *Move) {
	for i := range l {
		_, concerns := orderVerbs[l[i].Verb]
		if l[i].Who == who && l[i].Mark != Renewal && (concerns || l[i].Verb == "") {
			last = &l[i]
		}
	}
	return last
}

// isAtWire reports whether a command waits at the wire after the move. M is nil for an order that is yet to be sent:
// its first command will.
func (m *Move) isAtWire() bool {
	return m == nil || m.Verb == "" && !m.Reply && m.Mark != "" && m.Mark != End && m.Mark != Waits && m.Request() == 0
}

// Request returns the number of the database request that the mark names, 0 if it names none.
func (m *Move) Request() int {
	number, is := strings.CutPrefix(m.Mark, "db")
	if !is || !isNumber(number) {
		return 0
	}
	n, _ := strconv.Atoi(number)
	return n
}

// Crowd returns the number of instances at which a crowd buys, 0 if the line has no crowd.
func (l Line) Crowd() int {
	if len(l) == 0 || l[0].Verb != "crowd" {
		return 0
	}
	return l[0].Who + 1
}

// parseLetters parses letters of orders, each with an optional digit, as in a trace. The reply to the last command
// waits if < follows.
func parseLetters(word string) (moves []Move, ok bool) {
	letters, reply := strings.CutSuffix(word, "<")
	steps, ok := parseGrants(letters)
	for _, s := range steps {
		ok = ok && s.Who < len(instances)
		moves = append(moves, Move{Who: s.Who, At: s.Who, Nth: s.Nth, Mark: Next})
	}
	if ok {
		moves[len(moves)-1].Reply = reply
	}
	return moves, ok
}

// parseMove parses what is between two dots of a line.
func parseMove(word string) (m Move, err error) {
	if slices.Contains(plainVerbs, word) {
		return Move{Verb: word, Who: -1}, nil
	}
	if at := strings.IndexAny(word, "<>@"); at == 1 {
		return parseOrder(word)
	}
	dash := strings.LastIndexByte(word, '-')
	verb, subject := word[:max(0, dash)], word[dash+1:]
	if verb == "crowd" {
		if subject != "a" && subject != instances {
			return m, errors.New("a crowd orders from a or from both: crowd-a, crowd-ab")
		}
		return Move{Verb: verb, Who: len(subject) - 1}, nil
	}
	return parseVerb(verb, subject)
}

// parseVerb parses a verb with its order or instance.
func parseVerb(verb, subject string) (m Move, err error) {
	who, nth := -1, 0
	if s, ok := parseGrants(subject); ok && len(s) == 1 && s[0].String() == subject {
		who, nth = s[0].Who, s[0].Nth
	}
	needs, ofOrder := orderVerbs[verb]
	_, ofSite := siteVerbs[verb]
	switch {
	case !ofOrder && !ofSite:
		return m, fmt.Errorf("use one of %s, or an order and a mark, such as a>write or b<read", verbsOfLines())
	case ofOrder && who < 0:
		return m, fmt.Errorf("it takes an order, such as %s-a", verb)
	case ofSite && (who < 0 || who >= len(instances)):
		return m, fmt.Errorf("it takes an instance: %s-a or %s-b", verb, verb)
	case nth > 0 && needs != ">":
		return m, fmt.Errorf("it concerns no single command: %s-%s", verb, ClientName(who))
	}
	return Move{Verb: verb, Who: who, At: who, Nth: nth}, nil
}

// parseOrder parses an order that proceeds to a mark, or that polls for a moment.
func parseOrder(word string) (m Move, err error) {
	m.Who = strings.IndexByte(clientNames, word[0])
	who, side := word, strings.IndexAny(word, "<>")
	if side >= 0 {
		who, m.Mark, m.Reply = word[:side], word[side+1:], word[side] == '<'
	}
	_, at, named := strings.Cut(who, "@")
	m.At = m.Who
	if named {
		m.At = -1
		if len(at) == 1 {
			m.At = strings.Index(instances, at)
		}
	}
	switch only := sides[m.Mark]; {
	case m.Who < 0:
		return m, errors.New("the orders are a, b and c")
	case m.At < 0 || m.At >= len(instances):
		return m, fmt.Errorf("the instances are a and b: %c@a, %c@b", word[0], word[0])
	case side < 0:
	case !slices.Contains(marks, m.Mark) && !isNumber(m.Mark) && m.Request() == 0:
		return m, fmt.Errorf("unknown mark %q: use one of %s, the number of a command, or db1 for a request to the "+
			"database", m.Mark, strings.Join(marks, " "))
	case only != "" && only != word[side:side+1]:
		return m, fmt.Errorf("write %s%s%s", who, only, m.Mark)
	}
	return m, nil
}

// isNumber reports whether a mark is the number of a command, as [strconv.Itoa] writes it.
func isNumber(mark string) bool {
	n, err := strconv.Atoi(mark)
	return err == nil && n > 0 && strconv.Itoa(n) == mark
}

func verbsOfLines() string {
	var all []string
	for _, of := range []map[string]string{orderVerbs, siteVerbs} {
		for verb := range of {
			all = append(all, verb+"-a")
		}
	}
	all = append(append(all, plainVerbs...), "crowd-ab")
	slices.Sort(all)
	return strings.Join(all, " ")
}
