package stage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
)

// The phases of a round. Nothing is bought before the class has voted.
const (
	ready   = "ready"
	voting  = "vote"
	buying  = "buy"
	asking  = "again" // the second vote: what did you see?
	judging = "judging"
	judged  = "verdict"
)

// Options are the settings of a class.
type Options struct {
	Cluster  cluster.Options
	Rounds   []Round
	Language string             // of the pages: en or zh
	Log      io.Writer          // gets the events, a line each
	Keep     func(*Stage) error // saves the class so far; it is called after each verdict
	// Addresses are those of the phones' page, at least one, without the code. The wall shows the first, and the others
	// when the teacher asks for the next one.
	Addresses []string
	LAN       bool   // it is reachable from the local network
	Code      string // of the room; emptying the class replaces it
}

// A Stage is a class with its rounds.
type Stage struct {
	Options
	bed    *rig.Testbed
	token  string // the instances' admin token
	words  map[string]string
	record *record
	ctx    context.Context

	acting  sync.Mutex // serialises the teacher's actions
	shop    *shop      // of the current round; nil if it could not begin
	keeping sync.WaitGroup
	writing sync.Mutex // serialises Keep

	mu      sync.Mutex // guards the fields below; lock it before a shop's
	class   *class
	walls   streams
	phase   string
	number  int // of the round, from 0
	address int // the index of the one that is shown

	mending func()             // cancels the fix that is playing; nil if none was played. acting guards it.
	mended  sync.WaitGroup     // done when the fix has ended
	endStep context.CancelFunc // cancels the current step
	cells   []*history.Cell
	sheet   []page
}

// Open starts the servers that all rounds share, and begins the first round. If one of its processes dies on its own,
// the returned context is cancelled with that as its cause.
func Open(ctx context.Context, o Options) (*Stage, context.Context, error) {
	s := &Stage{Options: o, token: rand.Text(), words: wordsOf(o.Language), record: newRecord(o.Log),
		class: &class{guessers: map[string]guesser{}}, endStep: func() {}}
	o.Cluster.Product, o.Cluster.Token = product, s.token // other users of the machine reach the instances too
	o.Cluster.Max = cluster.Bounds{Wait: maxWait, TTL: maxLease, Work: slowBy * maxLease}
	var err error
	if s.bed, ctx, err = rig.Open(ctx, o.Cluster); err != nil {
		return nil, ctx, err
	}
	s.ctx = ctx
	for i := range s.Rounds {
		s.Rounds[i].compare(ctx, s.bed.Stockapi)
	}
	if err = s.goTo(0); err != nil {
		return nil, ctx, errors.Join(err, s.Close())
	}
	return s, ctx, nil
}

// Close stops everything that Open has started.
func (s *Stage) Close() error {
	s.acting.Lock()
	defer s.acting.Unlock()
	s.endRound()
	s.keeping.Wait()
	return errors.Join(s.bed.Close(), s.record.Err())
}

// endRound ends the round, whether or not it has been judged.
func (s *Stage) endRound() {
	s.mu.Lock()
	s.phase = ready // no more orders
	s.mu.Unlock()
	if s.mending != nil {
		s.mending()
		s.mending = nil
	}
	if s.shop != nil {
		s.shop.close()
	}
}

// An action is one request of the teacher's page.
type action struct {
	Do    string `json:"do"`
	At    string `json:"at"`
	Round int    `json:"round"`
}

// act carries out an action of the teacher. An action that begins a round interrupts a step in progress.
func (s *Stage) act(ctx context.Context, a action) error {
	s.interrupt(a.Do)
	s.acting.Lock()
	defer s.acting.Unlock()
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	switch a.Do {
	case "round":
		return s.goTo(a.Round - 1)
	case "next":
		return s.goTo(s.number + 1)
	case "reset":
		return s.goTo(s.number)
	case "address":
		s.nextAddress()
		return nil
	case "empty":
		s.empty()
		return s.goTo(s.number)
	case "vote", "start", "again", "verdict":
		return s.advance(a.Do, phase)
	case "mend":
		return s.playMend(phase)
	}
	return s.actWhileBuying(ctx, a, phase)
}

// actWhileBuying carries out an action that is allowed while the class buys.
func (s *Stage) actWhileBuying(ctx context.Context, a action, phase string) error {
	known := []string{"anna", "bert", "all", "pause", "kill", "cut", "slow", "continue", "step", "flow"}
	switch {
	case !slices.Contains(known, a.Do) || !slices.Contains([]string{"", "a", "b"}, a.At):
		return refusal{http.StatusBadRequest, "error.action"}
	case phase != buying:
		return refuse("error.early")
	}
	s.checkScript(a)
	switch a.Do {
	case "anna", "bert":
		s.shop.buyFirst(slices.Index(house[:], a.Do))
	case "all":
		s.everybody()
	case "step":
		return s.step(ctx, a.At)
	case "flow":
		s.shop.setStepping(false)
	default:
		return s.shop.inject(a.Do, s.site(a))
	}
	return nil
}

// checkScript reports an action whose key the round's script does not have, or has only after another key that has not
// been pressed. A key may be repeated.
func (s *Stage) checkScript(a action) {
	key, is := keys[a.Do]
	if a.At == "b" && slices.Contains([]string{"pause", "kill", "cut", "slow"}, a.Do) {
		key = "Shift+" + key
	}
	switch script, done := s.shop.round.script(), s.shop.pressed; {
	case !is || len(script) == 0:
	case !slices.Contains(script, key):
		s.tellAstray(s.shop, "key", key, "")
	case done < len(script) && script[done] == key:
		s.shop.pressed++
	case !slices.Contains(script[:done], key):
		s.tellAstray(s.shop, "early", key, script[done])
	}
}

// tellAstray reports on the wall that a round departs from its script: by a key that the script does not have, or has
// only after another one, by a step whose command does not arrive, or by a verdict that was not intended. The class's
// report says so, too.
func (s *Stage) tellAstray(of *shop, sign, what, after string) {
	s.record.add("astray", event{"sign": sign, "what": what, "after": after})
	says := strings.NewReplacer("{what}", cmp.Or(what, "nothing"), "{after}", after).Replace(wordsOf("en")["astray."+sign])
	of.mu.Lock()
	defer of.mu.Unlock()
	if !slices.Contains(of.astray, says) {
		of.astray = append(of.astray, says)
	}
}

// interrupt cancels the current step if the action begins a round.
func (s *Stage) interrupt(do string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains([]string{"round", "next", "reset", "empty"}, do) {
		s.endStep()
	}
}

// site returns the instance of an action: a unless it names one, and for "continue" the one that has a fault.
func (s *Stage) site(a action) *site {
	if a.At == "b" || a.Do == "continue" && a.At == "" && s.shop.isUp(0) && !s.shop.isUp(1) {
		return s.shop.sites[1]
	}
	return s.shop.sites[0]
}

// step turns on step mode. If it was on, or the round has a trace, it passes the next command: of the instance at or,
// if that is "", of the one that the class voted for.
func (s *Stage) step(ctx context.Context, at string) error {
	if !s.shop.held.Load() {
		s.shop.setStepping(true)
		if len(s.shop.round.steps) == 0 {
			return nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.endStep = cancel
	if wanted := s.class.decideTurn(); at == "" {
		at = wanted
	}
	s.tellClass()
	s.mu.Unlock()
	err := s.shop.step(ctx, at)
	if errors.Is(err, refuse("error.idle")) && s.shop.next < len(s.shop.round.steps) {
		s.tellAstray(s.shop, "step", s.shop.round.steps[s.shop.next].String(), "")
	}
	return err
}

func (s *Stage) goTo(number int) error {
	if number < 0 || number >= len(s.Rounds) {
		return refuse("error.round")
	}
	s.endRound()
	var err error
	if s.shop, err = newShop(s.ctx, s.bed, s.token, &s.Rounds[number], s.record, s.tellShared, s.showVerdict); err != nil {
		if s.ctx.Err() != nil {
			err = context.Cause(s.ctx)
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number = number
	s.class.begin()
	s.record.add("round", s.roundEvent())
	s.setPhase(ready)
	return nil
}

// empty removes all persons, and creates a new code, which they need to join again.
func (s *Stage) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.class.empty()
	s.Code = NewCode()
	s.tellClass()
}

// room returns the address at which a phone joins. The caller holds s.mu.
func (s *Stage) room() string { return s.Addresses[s.address] + "/" + s.Code }

// nextAddress shows the next of this machine's addresses: phones may not reach the current one.
func (s *Stage) nextAddress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = (s.address + 1) % len(s.Addresses)
	s.record.add("room", event{"phones": s.room()})
}

// setPhase begins a phase. The caller holds s.mu.
func (s *Stage) setPhase(phase string) {
	s.phase = phase
	s.record.add("phase", event{"phase": phase})
	s.tellClass()
}

// advance moves to the next phase. It opens the vote; closes it and lets the class buy; freezes the picture and opens
// the second vote; or ends all orders, for the verdict.
func (s *Stage) advance(do, phase string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shop == nil {
		return refuse("error.shop")
	}
	switch do + " " + phase {
	case "vote " + ready, "start " + ready:
		s.setPhase(voting)
	case "vote " + voting, "start " + voting:
		if s.class.voters(0) == 0 {
			return refuse("error.vote")
		}
		s.setPhase(buying)
	case "again " + buying:
		s.setPhase(asking)
	case "verdict " + asking:
		s.setPhase(judging)
		close(s.shop.over)
	default:
		return refuse(cmp.Or(map[string]string{"again": "error.again", "verdict": "error.verdict"}[do], "error.voted"))
	}
	return nil
}

// everybody sends an order for each connected person.
func (s *Stage) everybody() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.class.persons {
		if len(p.streams) > 0 && len(p.taps) < maxTaps {
			s.order(p)
		}
	}
}

// order sends an order for a person. The caller holds s.mu.
func (s *Stage) order(p *person) {
	t := &tap{}
	p.taps, p.tapped = append(p.taps, t), time.Now()
	s.shop.buy(p.name, p.colour, p.at, func(op *history.Op) {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Outcome, t.Units = string(op.Outcome), op.Units
		p.tell()
	})
	p.tell()
}

// tellShared reports the buyers of units that were sold more than once to each other.
func (s *Stage) tellShared(shared map[int64][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for unit, buyers := range shared {
		s.class.tellShared(unit, buyers)
	}
}

// An event has the fields of a message to the wall, except its number, time and kind.
type event map[string]any

// tellClass sends the state of the class to all pages. Votes are shown once the vote is closed. The caller holds s.mu.
func (s *Stage) tellClass() {
	e := event{"persons": len(s.class.persons), "here": s.class.here(), "lan": s.class.lan, "turns": s.class.turns(),
		"voted": s.class.voters(s.voteNumber())}
	if s.phase != ready && s.phase != voting {
		e["first"] = s.class.count(0)
	}
	if s.phase == judging || s.phase == judged {
		e["second"] = s.class.count(1)
	}
	s.record.add("class", e)
	for _, p := range s.class.persons {
		p.tell()
	}
}

// voteNumber returns the vote of the phase: 0 for the first, 1 for the second. The caller holds s.mu.
func (s *Stage) voteNumber() int {
	if slices.Contains([]string{asking, judging, judged}, s.phase) {
		return 1
	}
	return 0
}

// roundEvent returns the wall's description of the round.
func (s *Stage) roundEvent() event {
	r, titles := s.Rounds[s.number], []string{}
	for _, one := range s.Rounds {
		titles = append(titles, one.Title)
	}
	buttons := []string{"anna", "bert", "all", "continue", "kill", "cut", "slow", "step"}
	if cluster.CanStop {
		buttons = append(buttons, "pause")
	}
	mend := ""
	if r.mend != nil {
		mend = r.mend.rung.Number
	}
	return event{"round": event{"mend": mend, "locked": r.rung.Kind != catalog.NoLock,
		"number": s.number + 1, "of": len(s.Rounds), "title": r.Title, "rung": r.rung.Number,
		"situation": r.Situation, "question": r.Question, "do": r.Do, "look": r.Look,
		"lease": r.Lease.Milliseconds(), "stock": onShelf, "next": r.Next, "diff": r.diff, "own": r.own, "buttons": buttons,
		"titles": titles, "phones": s.room(), "addresses": len(s.Addresses), "lan": s.LAN}}
}

// NewCode returns a random code for a room: four letters that do not look like digits.
func NewCode() string {
	return strings.Map(func(r rune) rune {
		if r < 'A' || r == 'I' || r == 'O' {
			return -1
		}
		return r
	}, rand.Text()+rand.Text())[:4]
}
