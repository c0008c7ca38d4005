package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Line is a fault of anybody's shop, step by step: a>write.late-a.expiry.b>end.arrive-a. It is a trace without a
// rung, and as the commands of the shop are its own, orders go on until they are at a mark. docs/explore.md tells what
// each word does.
type Line []Move

// A Move is a step of a line: a verb, or an order that goes on until it is at a mark.
type Move struct {
	Verb  string // "": the order goes on
	Who   int    // the order, or the instance; -1: the verb concerns all
	At    int    // the instance to which the order is sent, if it is not under way
	Mark  string // "": a new order tries for a moment
	Reply bool   // it goes on until the command at the mark is carried out, and its reply waits
}

// These marks are moments of a sale. A number is that of a command of a plain sale, and db with a number that of a
// request to the database, or of its reply.
const (
	Acquire   = "acquire"   // the first try to get the lock
	Acquired  = "acquired"  // the one that got it
	Read      = "read"      // the last command before the write
	Write     = "write"     // that of the stock
	Release   = "release"   // the first command of the release
	Release2  = "release2"  // the second
	Renewal   = "renewal"   // which comes beside the sale
	Waits     = "waits"     // the order was not answered at once
	Subscribe = "subscribe" // of one that waits
	End       = "end"       // the order was answered
)

var marks = []string{Acquire, Acquired, Read, Write, Release, Release2, Renewal, Waits, Subscribe, End}

// sides say on which side of a command an order can be at a mark; on both if it is not here.
var sides = map[string]string{Acquired: "<", Renewal: "<", Waits: ">", End: ">"}

// orderVerbs concern an order, siteVerbs an instance, and plainVerbs all. The first two have what comes before them:
// ">" is a command of the order that is at the wire, "." the order, and a word another verb of the same letter.
var (
	orderVerbs = map[string]string{"lose-request": ">", "lose-reply": ">", "late": ">", "arrive": "late", "give-up": "."}
	siteVerbs  = map[string]string{"crash": "", "stop": "", "continue": "stop", "cut": "", "join": "cut", "drop": ""}
	plainVerbs = []string{"time", "expiry", "remove", "take", "restart"}
)

// instances are the letters of those that a line has.
const instances = "ab"

// ParseLine returns the line that a text is. The error says in one line what is wrong, and what there is.
func ParseLine(text string) (line Line, err error) {
	for word := range strings.SplitSeq(strings.TrimSpace(text), ".") {
		m, err := parseMove(word)
		if err == nil {
			err = line.allows(m)
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no step of a fault: %w", word, err)
		}
		line = append(line, m)
	}
	return line, nil
}

// allows says why a move cannot follow these.
func (l Line) allows(m Move) error {
	if l.Crowd() > 0 || m.Verb == "crowd" && len(l) > 0 {
		return errors.New("a crowd is a line of its own")
	}
	if m.Who < 0 {
		return nil
	}
	letter, needs, last := ClientName(m.Who), orderVerbs[m.Verb]+siteVerbs[m.Verb], l.lastOf(m.Who)
	switch {
	case m.Verb == "" && m.Mark == "" && last != nil:
		return fmt.Errorf("%s has ordered already", letter)
	case needs == ">" && !last.isAtWire():
		return fmt.Errorf("no command of %s is at the wire: %s>write comes before it, or another mark", letter, letter)
	case needs == "." && last == nil:
		return fmt.Errorf("%s has not ordered yet", letter)
	case len(needs) > 1 && !slices.ContainsFunc(l, func(o Move) bool { return o.Verb == needs && o.Who == m.Who }):
		return fmt.Errorf("%s-%s comes before it", needs, letter)
	}
	return nil
}

// lastOf returns the last move of an order, nil if there is none. Renewals come beside it.
func (l Line) lastOf(who int) (last *Move) {
	for i := range l {
		_, concerns := orderVerbs[l[i].Verb]
		if l[i].Who == who && l[i].Mark != Renewal && (concerns || l[i].Verb == "") {
			last = &l[i]
		}
	}
	return last
}

// isAtWire reports whether a command waits at the wire after the move, if there is one.
func (m *Move) isAtWire() bool {
	return m != nil && m.Verb == "" && !m.Reply && m.Mark != "" && m.Mark != End && m.Mark != Waits && m.Request() == 0
}

// Request returns the number of the request to the database that the mark names, 0 if it names none.
func (m *Move) Request() int {
	number, is := strings.CutPrefix(m.Mark, "db")
	if !is || !isNumber(number) {
		return 0
	}
	n, _ := strconv.Atoi(number)
	return n
}

// Crowd returns at how many instances a crowd buys; 0 if the line has none.
func (l Line) Crowd() int {
	if len(l) == 0 || l[0].Verb != "crowd" {
		return 0
	}
	return l[0].Who + 1
}

// parseMove reads what stands between two dots of a line.
func parseMove(word string) (m Move, err error) {
	if slices.Contains(plainVerbs, word) {
		return Move{Verb: word, Who: -1}, nil
	}
	if at := strings.IndexAny(word, "<>@"); at == 1 {
		return parseOrder(word)
	}
	dash := strings.LastIndexByte(word, '-')
	verb, subject := word[:max(0, dash)], word[dash+1:]
	who := -1
	if len(subject) == 1 {
		who = strings.Index(clientNames, subject)
	}
	_, ofOrder := orderVerbs[verb]
	_, ofSite := siteVerbs[verb]
	switch {
	case verb == "crowd" && subject == "a", verb == "crowd" && subject == instances:
		return Move{Verb: verb, Who: len(subject) - 1}, nil
	case verb == "crowd":
		return m, errors.New("a crowd comes to a or to both: crowd-a, crowd-ab")
	case !ofOrder && !ofSite:
		return m, fmt.Errorf("there are %s; and orders that go to a mark, such as a>write or b<read", verbsOfLines())
	case ofOrder && who < 0:
		return m, fmt.Errorf("the letter of an order follows, such as %s-a", verb)
	case ofSite && (who < 0 || who >= len(instances)):
		return m, fmt.Errorf("an instance follows, %s-a or %s-b", verb, verb)
	}
	return Move{Verb: verb, Who: who, At: who}, nil
}

// parseOrder reads an order that goes to a mark, or that comes for a moment.
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
		return m, errors.New("there are the orders a, b and c")
	case m.At < 0 || m.At >= len(instances):
		return m, fmt.Errorf("there are two instances: %c@a, %c@b", word[0], word[0])
	case side < 0:
	case !slices.Contains(marks, m.Mark) && !isNumber(m.Mark) && m.Request() == 0:
		return m, fmt.Errorf("there is no mark %q; there are %s, the number of a command, and db1 for a request to the "+
			"database", m.Mark, strings.Join(marks, " "))
	case only != "" && only != word[side:side+1]:
		return m, fmt.Errorf("write %s%s%s", who, only, m.Mark)
	}
	return m, nil
}

// isNumber reports whether a mark is the number of a command.
func isNumber(mark string) bool {
	return mark != "" && mark[0] != '0' && strings.Trim(mark, "0123456789") == ""
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
