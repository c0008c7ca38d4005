package stage

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// animals are the names that persons get, in this order.
var animals = strings.Fields("fox owl bear wolf hare deer lynx otter seal crab crane swan duck goose hen raven robin " +
	"finch stork eagle frog toad newt snail bee ant moth wasp horse goat sheep cow pig cat dog mouse rat mole bat camel")

const (
	colours = 10
	// tapGap is the shortest time between two orders of a person, and maxTaps bounds the orders of a person in a round.
	tapGap  = 300 * time.Millisecond
	maxTaps = 20
	// maxRate bounds the requests of a phone in a second.
	maxRate = 20
	// keptFor is the least time for which a full class keeps the place of a person without an open page: phones sleep.
	keptFor = 2 * time.Minute
	// An address has one guess at the code each guessGap, and may be slips guesses ahead: see guess.
	guessGap = time.Second
	slips    = 10
)

// A class holds the persons and their votes.
type class struct {
	persons  []*person          // each has a place
	former   []*person          // have lost their places, but keep their points
	lan      bool               // a person has joined from another machine
	guessers map[string]guesser // by address
}

// A person is identified by a secret that the phone keeps across reloads, sleep and changes of network.
type person struct {
	id     string
	name   string
	colour int
	at     int // the index of the instance that it buys from

	streams streams   // of its open pages; none if it has left
	left    time.Time // when it last closed a page, or joined
	votes   [2]*vote  // before the orders, and after them
	turn    string
	taps    []*tap          // of this round
	heard   map[string]bool // the IDs of all its taps: a repeated one, even a round later, is a no-op
	tapped  time.Time
	twice   []soldTwice // units that were also sold to others
	points  int
	of      int
	right   *scored // its points of this round; nil before the verdict, or if it did not vote
	sent    rate
}

// A scored has a person's points in a round, and the highest number possible.
type scored struct {
	Points int `json:"points"`
	Of     int `json:"of"`
}

// A rate counts the requests in a second.
type rate struct{ second, n int64 }

// check counts a request, and returns an error if there are too many.
func (r *rate) check() error {
	if now := time.Now().Unix(); now != r.second {
		*r = rate{second: now}
	}
	if r.n++; r.n > maxRate {
		return refusal{http.StatusTooManyRequests, "error.often"}
	}
	return nil
}

// streams are the open pages of a person, or all walls, the oldest first. A page is woken by its channel, and ends when
// that is closed.
type streams []chan struct{}

// open adds a stream. If there are already most of them, it closes the oldest: its page has probably gone.
func (s *streams) open(most int) chan struct{} {
	if len(*s) == most {
		close((*s)[0])
		*s = (*s)[1:]
	}
	mine := make(chan struct{}, 1)
	*s = append(*s, mine)
	return mine
}

func (s *streams) remove(mine chan struct{}) {
	*s = slices.DeleteFunc(*s, func(c chan struct{}) bool { return c == mine })
}

// A guesser is an address that has sent wrong codes.
type guesser struct {
	until time.Time // advances by a guessGap for each wrong code that is checked
	told  time.Time // when a code was last reported as wrong
}

// guess returns an error unless the code from an address is right and within the address's rate of guesses.
//
// Without a limit a guesser would find the code sooner or later. So an address has one guess per guessGap, and beyond
// that even the right code is refused. But a class may share one address, behind a proxy, and a typo must not delay the
// phone that sends the right code a moment later: so an address may be slips guesses ahead, which gives a guesser only
// those few more. One wrong code per guessGap is reported as wrong; the others get the same answer as codes beyond the
// limit. A guesser at the class's own address locks the class out while it guesses: nothing distinguishes the two.
func (c *class) guess(from string, right bool) error {
	now, often := time.Now(), refusal{http.StatusTooManyRequests, "error.often"}
	g := c.guessers[from]
	switch {
	case g.until.Sub(now) > (slips-1)*guessGap:
		return often
	case right:
		return nil
	case g.until.Before(now):
		g.until = now
	}
	g.until = g.until.Add(guessGap)
	tell := now.Sub(g.told) >= guessGap
	if tell {
		g.told = now
	}
	maps.DeleteFunc(c.guessers, func(_ string, g guesser) bool { return g.until.Before(now) })
	c.guessers[from] = g
	if tell {
		return refusal{http.StatusForbidden, "error.code"}
	}
	return often
}

// A vote is a person's prediction or observation: which verdicts break, and how many units are sold twice.
type vote struct {
	Letters string `json:"letters"`
	Twice   string `json:"twice"`
}

// A tap is an order of a person.
type tap struct {
	Outcome string  `json:"outcome,omitempty"` // "" until it has ended
	Units   []int64 `json:"units,omitempty"`
}

// A soldTwice is a unit that a person has bought, and its other buyers.
type soldTwice struct {
	Unit  int64    `json:"unit"`
	Times int      `json:"times"` // how often it was sold
	With  []string `json:"with"`
}

// join gives a place to the person with that ID, who keeps its points, or to a new person. Places alternate between the
// instances.
func (c *class) join(id string, lan bool) (*person, error) {
	if p, err := c.find(id); err == nil {
		return p, nil // joined before: the answer was lost
	}
	n, err := c.place()
	if err != nil {
		return nil, err
	}
	p := &person{id: rand.Text(), heard: map[string]bool{}}
	if i := slices.IndexFunc(c.former, func(p *person) bool { return p.id == id }); i >= 0 {
		p = c.former[i]
		c.former = slices.Delete(c.former, i, i+1)
	}
	p.name, p.colour, p.at, p.left = animals[n], n%colours, n%2, time.Now()
	c.persons, c.lan = append(c.persons, p), c.lan || lan
	return p, nil
}

// place returns the number of a free place. A full class gives away the place that has been without a page for longest,
// if that is at least keptFor. One phone can take all places: a limit by address would not help, as a class may share
// one.
func (c *class) place() (int, error) {
	for n, name := range animals {
		if !slices.ContainsFunc(c.persons, func(p *person) bool { return p.name == name }) {
			return n, nil
		}
	}
	var gone *person
	for _, p := range c.persons {
		if len(p.streams) == 0 && (gone == nil || p.left.Before(gone.left)) {
			gone = p
		}
	}
	if gone == nil || time.Since(gone.left) < keptFor {
		return 0, refusal{http.StatusTooManyRequests, "error.full"}
	}
	c.persons = slices.DeleteFunc(c.persons, func(p *person) bool { return p == gone })
	c.former = append(c.former, gone)
	return slices.Index(animals, gone.name), nil
}

// empty frees all places, and closes their pages.
func (c *class) empty() {
	for _, p := range c.persons {
		for _, stream := range p.streams {
			close(stream)
		}
		p.streams = nil
	}
	c.former = append(c.former, c.persons...)
	c.persons = nil
}

func (c *class) find(id string) (*person, error) {
	for _, p := range c.persons {
		if p.id == id {
			return p, nil
		}
	}
	return nil, refusal{http.StatusNotFound, "error.person"}
}

// begin clears the state of the previous round.
func (c *class) begin() {
	for _, p := range slices.Concat(c.persons, c.former) {
		p.votes, p.taps, p.twice, p.turn, p.right = [2]*vote{}, nil, nil, "", nil
	}
}

// here counts the connected persons.
func (c *class) here() (n int) {
	for _, p := range c.persons {
		n += min(len(p.streams), 1)
	}
	return n
}

// tell wakes the pages of a person, except those that have been woken already.
func (p *person) tell() {
	for _, stream := range p.streams {
		select {
		case stream <- struct{}{}:
		default:
		}
	}
}

// voters counts the persons who have voted in the first vote (0) or the second (1).
func (c *class) voters(second int) (n int) {
	for _, p := range c.persons {
		if p.votes[second] != nil {
			n++
		}
	}
	return n
}

// A count sums the votes of a class.
type count struct {
	Letters map[string]int `json:"letters"`
	Twice   map[string]int `json:"twice"`
}

func (c *class) count(second int) count {
	n := count{map[string]int{"S": 0, "E": 0, "R": 0, "L": 0, "none": 0}, map[string]int{"0": 0, "1": 0, "more": 0}}
	for _, p := range c.persons {
		if v := p.votes[second]; v != nil {
			n.Twice[v.Twice]++
			for _, letter := range v.Letters {
				n.Letters[string(letter)]++
			}
			if v.Letters == "" {
				n.Letters["none"]++
			}
		}
	}
	return n
}

// turns counts the votes for the next command, by instance.
func (c *class) turns() map[string]int {
	votes := map[string]int{}
	for _, p := range c.persons {
		if p.turn != "" {
			votes[p.turn]++
		}
	}
	return votes
}

// decideTurn returns the instance with most votes for the next command, "" for a tie, and begins the next vote.
func (c *class) decideTurn() (at string) {
	switch votes := c.turns(); {
	case votes["a"] > votes["b"]:
		at = "a"
	case votes["b"] > votes["a"]:
		at = "b"
	}
	for _, p := range c.persons {
		p.turn = ""
	}
	return at
}

// tellShared tells the buyers of a unit that was sold more than once about each other. Orders end concurrently, so a
// list of buyers may arrive after a longer one: it is stale.
func (c *class) tellShared(unit int64, buyers []string) {
	for _, p := range c.persons {
		own := slices.Index(buyers, p.name)
		if own < 0 {
			continue
		}
		i := slices.IndexFunc(p.twice, func(t soldTwice) bool { return t.Unit == unit })
		if i < 0 {
			i, p.twice = len(p.twice), append(p.twice, soldTwice{Unit: unit})
		}
		if len(buyers) < p.twice[i].Times {
			continue
		}
		p.twice[i].Times = len(buyers)
		p.twice[i].With = slices.Delete(slices.Clone(buyers), own, own+1) // removes one: a person who bought it twice stays
		p.tell()
	}
}

// A winner is one of the best of a round.
type winner struct {
	Person string `json:"person"`
	Colour int    `json:"colour"`
	Points int    `json:"points"`
}

// score gives points for predictions, and returns the best three persons. A broken verdict that was named adds a point,
// any other one takes a point, down to zero. The right number of units sold twice adds a point. Naming none counts as a
// right letter if none is broken. Unknown verdicts do not count.
func (c *class) score(broken, unknown, twice string) []winner {
	best := []winner{}
	for _, p := range c.persons {
		v := p.votes[0]
		if v == nil {
			continue
		}
		points, of := 0, 1+max(len(broken), 1)
		for _, letter := range v.Letters {
			switch {
			case strings.ContainsRune(broken, letter):
				points++
			case !strings.ContainsRune(unknown, letter):
				points--
			}
		}
		if points = max(points, 0); v.Letters+broken == "" {
			points++
		}
		if v.Twice == twice {
			points++
		}
		p.points, p.of, p.right = p.points+points, p.of+of, &scored{points, of}
		best = append(best, winner{p.name, p.colour, points})
	}
	slices.SortStableFunc(best, func(a, b winner) int { return b.Points - a.Points })
	return best[:min(len(best), 3)]
}
