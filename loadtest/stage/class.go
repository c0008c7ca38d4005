package stage

import (
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// animals are the names that persons get, in this order: nobody types one.
var animals = strings.Fields("fox owl bear wolf hare deer lynx otter seal crab crane swan duck goose hen raven robin " +
	"finch stork eagle frog toad newt snail bee ant moth wasp horse goat sheep cow pig cat dog mouse rat mole bat camel")

const (
	colours = 10
	// tapGap is the least time between two orders of a person, and maxTaps bounds the orders of a person in a round.
	tapGap  = 300 * time.Millisecond
	maxTaps = 20
)

// A class is who is there, and what they have said.
type class struct {
	persons []*person
	byID    map[string]*person
	lan     bool           // somebody has come from another machine
	turns   map[string]int // votes whose command is next, by instance
}

// A person is known by a secret that its phone keeps, so that reload, sleep and another network make it nobody else.
type person struct {
	id     string
	name   string
	colour int
	at     int // the number of the instance that it buys from

	streams []chan struct{} // of its open pages, none if it is gone: each is woken by its channel
	votes   [2]*vote        // before the orders, and after them
	turn    string
	taps    []*tap // of this round
	tapped  time.Time
	twice   []soldTwice // units that it shares with others
	points  int
	of      int
}

// A vote is what a person expects, or saw: which verdicts break, and how many units are sold twice.
type vote struct {
	Letters string `json:"letters"`
	Twice   string `json:"twice"`
}

// A tap is an order of a person.
type tap struct {
	ID    string  `json:"tap"`
	State string  `json:"state"` // sent or done
	Order string  `json:"order"`
	Said  string  `json:"outcome,omitempty"`
	Units []int64 `json:"units,omitempty"`
	Why   string  `json:"detail,omitempty"`
}

// A soldTwice is a unit that a person has, and who else has it.
type soldTwice struct {
	Unit int64    `json:"unit"`
	With []string `json:"with"`
}

var (
	errFull  = errors.New("the class is full")
	errNow   = errors.New("not now")
	errOften = errors.New("that is too often")
)

func newClass() *class { return &class{byID: map[string]*person{}, turns: map[string]int{}} }

// join adds a person, who buys from a if its number is even.
func (c *class) join(lan bool) (*person, error) {
	if len(c.persons) == len(animals) {
		return nil, errFull
	}
	n := len(c.persons)
	p := &person{id: rand.Text(), name: animals[n], colour: n % colours, at: n % 2}
	c.persons = append(c.persons, p)
	c.byID[p.id] = p
	c.lan = c.lan || lan
	return p, nil
}

// tell wakes the streams of all phones.
func (c *class) tell() {
	for _, p := range c.persons {
		p.tell()
	}
}

func (p *person) tell() {
	for _, changed := range p.streams {
		select {
		case changed <- struct{}{}:
		default: // it is about to look
		}
	}
}

// begin forgets what belonged to the round before.
func (c *class) begin() {
	clear(c.turns)
	for _, p := range c.persons {
		p.votes, p.taps, p.twice, p.turn = [2]*vote{}, nil, nil, ""
	}
}

// here counts those whose phone is connected, and voted those who have voted, the first time or the second.
func (c *class) here() (n int) {
	for _, p := range c.persons {
		if len(p.streams) > 0 {
			n++
		}
	}
	return n
}

func (c *class) voted(second int) (n int) {
	for _, p := range c.persons {
		if p.votes[second] != nil {
			n++
		}
	}
	return n
}

// check returns an error for a vote that is none.
func (v *vote) check() error {
	if !lettersOnly(v.Letters) || !slices.Contains(counts, v.Twice) {
		return errors.New("a vote has some of the letters " + letters + " and 0, 1 or more units")
	}
	return nil
}

// A count is what a class has voted, when the vote is closed.
type count struct {
	Letters map[string]int `json:"letters"`
	Twice   map[string]int `json:"twice"`
}

func (c *class) count(second int) *count {
	n := &count{Letters: map[string]int{}, Twice: map[string]int{}}
	for _, p := range c.persons {
		v := p.votes[second]
		if v == nil {
			continue
		}
		n.Twice[v.Twice]++
		for _, letter := range v.Letters {
			n.Letters[string(letter)]++
		}
		if v.Letters == "" {
			n.Letters["none"]++
		}
	}
	return n
}

// takeTurn notes whose command a person wants next.
func (c *class) takeTurn(p *person, at string) {
	if p.turn != "" {
		c.turns[p.turn]--
	}
	p.turn = at
	c.turns[at]++
}

// decided returns what most want next, "" if nobody or as many want the one as the other; and begins the next vote.
func (c *class) decided() (at string) {
	switch a, b := c.turns["a"], c.turns["b"]; {
	case a > b:
		at = "a"
	case b > a:
		at = "b"
	}
	clear(c.turns)
	for _, p := range c.persons {
		p.turn = ""
	}
	return at
}

// find returns the tap of that id.
func (p *person) find(id string) *tap {
	i := slices.IndexFunc(p.taps, func(t *tap) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return p.taps[i]
}

// mayTap returns why a person may not order now.
func (p *person) mayTap() error {
	if len(p.taps) >= maxTaps || time.Since(p.tapped) < tapGap {
		return errOften
	}
	return nil
}

// perRound is what a prediction can earn: a point for each letter, and one for the number of units.
const perRound = len(letters) + 1

// score gives points for predictions, not for haste: a point for each verdict that a person foretold, and one for the
// number of units sold twice. It returns the points of those who have voted.
func (c *class) score(broken, twice string) map[*person]int {
	points := map[*person]int{}
	for _, p := range c.persons {
		v := p.votes[0]
		if v == nil {
			continue
		}
		n := 0
		for _, letter := range letters {
			if strings.ContainsRune(v.Letters, letter) == strings.ContainsRune(broken, letter) {
				n++
			}
		}
		if v.Twice == twice {
			n++
		}
		points[p] = n
		p.points += n
		p.of += perRound
	}
	return points
}

// A winner is one of the best of a round.
type winner struct {
	Person string `json:"person"`
	Colour int    `json:"colour"`
	Points int    `json:"points"`
}

// best returns those with the most points, three at most.
func best(points map[*person]int) []winner {
	all := []winner{}
	for _, p := range slices.SortedFunc(maps.Keys(points), func(p, q *person) int {
		if points[p] != points[q] {
			return points[q] - points[p]
		}
		return strings.Compare(p.name, q.name)
	}) {
		all = append(all, winner{p.name, p.colour, points[p]})
	}
	return all[:min(len(all), 3)]
}

// countOf names a number of units as votes do.
func countOf(twice int) string { return counts[min(twice, len(counts)-1)] }
