package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// The phases of a round. Nothing is bought before the class has voted.
const (
	ready   = "ready"
	voting  = "vote"
	buying  = "buy"
	asking  = "again" // what did you see?
	judging = "judging"
	judged  = "verdict"
)

// A Stage is a class with its rounds. One action of the teacher is carried out at a time.
type Stage struct {
	servers *servers
	options Options
	rounds  []Round
	record  *record
	ctx     context.Context
	acting  sync.Mutex

	mu     sync.Mutex
	class  *class
	phase  string
	number int // of the round, from 0
	shop   *shop
	played chan judgement // what the shop's cell came to
	sheet  []page
	cells  []*history.Cell

	keeping sync.Mutex // writes the files
}

// Options say what a class is like.
type Options struct {
	Cluster  cluster.Options
	Rounds   []Round
	Language string
	Log      io.Writer          // gets the events, a line each
	Keep     func(*Stage) error // is called after each verdict
	Phones   string             // the address of the phones' page, as a person types it
	LAN      bool
	Code     string // of the room
}

type judgement struct {
	cell *history.Cell
	err  error
}

// Open starts what all rounds share, and begins the first. When one of its processes dies on its own, the returned
// context ends with that as its cause.
func Open(ctx context.Context, o Options) (*Stage, context.Context, error) {
	token := rand.Text() // other users of the machine reach the instances too
	o.Cluster.Product, o.Cluster.Token = product, token
	o.Cluster.Max = cluster.Bounds{Wait: time.Minute, TTL: time.Minute, Work: 3 * time.Minute}
	if err := o.Cluster.Check(); err != nil {
		return nil, ctx, err
	}
	c, ctx, err := cluster.New(ctx, o.Cluster)
	if err != nil {
		return nil, ctx, err
	}
	s := &Stage{servers: &servers{cluster: c, token: token}, options: o, rounds: o.Rounds, record: newRecord(o.Log),
		ctx: ctx, class: newClass()}
	if err = s.begin(ctx); err == nil {
		err = s.goTo(0)
	}
	if err != nil {
		return nil, ctx, errors.Join(err, s.Close())
	}
	return s, ctx, nil
}

func (s *Stage) begin(ctx context.Context) error {
	path, err := s.servers.cluster.FindStockapi(ctx)
	if err != nil {
		return err
	}
	if s.servers.scripts, err = wire.ScriptNames(ctx, path); err != nil {
		return err
	}
	for i := range s.rounds {
		s.rounds[i].compare(ctx, path)
	}
	s.servers.backend, err = s.servers.cluster.StartBackend(ctx)
	return err
}

// Close ends all that was started.
func (s *Stage) Close() error {
	s.acting.Lock()
	defer s.acting.Unlock()
	if s.shop != nil {
		s.shop.close()
		<-s.played
	}
	return errors.Join(s.servers.cluster.Close(), s.record.Err())
}

// Cells returns the rounds that have been judged, as any run has its cells.
func (s *Stage) Cells() []*history.Cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cells)
}

// errUnknown means that there is no such action.
var errUnknown = errors.New("there is no such action")

// An action is what the teacher's page asks for.
type action struct {
	Do    string `json:"do"`
	At    string `json:"at"`
	Round int    `json:"round"`
}

// act carries out what the teacher asks for.
func (s *Stage) act(ctx context.Context, a action) error {
	s.acting.Lock()
	defer s.acting.Unlock()
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	switch a.Do {
	case "round":
		return s.goTo(a.Round - 1)
	case "next":
		return s.goTo(s.number + 1)
	case "reset":
		return s.goTo(s.number)
	case "vote", "start":
		return s.vote()
	case "again":
		return s.ask()
	case "verdict":
		return s.verdict()
	}
	return s.stir(ctx, a)
}

// stir does what is possible while the class buys.
func (s *Stage) stir(ctx context.Context, a action) error {
	if s.phase != buying {
		return fmt.Errorf("%s: not before the class has voted and buys: press V", a.Do)
	}
	switch a.Do {
	case "anna", "bert":
		s.shop.buyAs(slices.Index(house[:], a.Do))
	case "all":
		s.everybody()
	case "pause", "kill", "cut", "slow", "continue":
		return s.shop.bring(a.Do, s.site(a))
	case "step":
		return s.step(ctx, a.At)
	case "flow":
		s.shop.stepping(false)
	default:
		return errUnknown
	}
	return nil
}

// site is the instance that an action is about: a, unless it says which; and to make one well, the one that is not.
func (s *Stage) site(a action) *site {
	if a.At == "b" {
		return s.shop.sites[1]
	}
	if one := s.shop.sites[1]; a.Do == "continue" && a.At == "" && s.shop.sites[0].state == "up" && one.state != "up" {
		return one
	}
	return s.shop.sites[0]
}

// step begins to hold the commands, or lets the next one through: the one that the class wants, if at is "".
func (s *Stage) step(ctx context.Context, at string) error {
	if !s.shop.held.Load() {
		s.shop.stepping(true)
		if len(s.shop.round.steps) == 0 {
			return nil
		}
	}
	s.mu.Lock()
	if wanted := s.class.decided(); at == "" {
		at = wanted
	}
	s.class.tell()
	s.tellClass()
	s.mu.Unlock()
	return s.shop.step(ctx, at)
}

// goTo begins a round.
func (s *Stage) goTo(number int) error {
	if number < 0 || number >= len(s.rounds) {
		return fmt.Errorf("there are rounds 1 to %d", len(s.rounds))
	}
	if s.shop != nil {
		s.shop.close()
		<-s.played
		s.shop = nil
	}
	r := &s.rounds[number]
	shop, err := newShop(s.ctx, s.servers, r, s.record, s.tellPhones)
	if err != nil {
		return err
	}
	played := make(chan judgement, 1)
	go func() {
		cell, err := shop.play(r.Title)
		played <- judgement{cell, err}
	}()
	select {
	case <-shop.open:
	case j := <-played:
		shop.close()
		return reason(s.ctx, j.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number, s.shop, s.played = number, shop, played
	s.class.begin()
	s.record.add("round", s.roundEvent())
	s.setPhase(ready)
	return nil
}

// reason is why a round could not begin: err, unless all has ended.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// setPhase begins a phase. The caller has the lock.
func (s *Stage) setPhase(phase string) {
	s.phase = phase
	s.record.add("phase", map[string]any{"phase": phase})
	s.tellClass()
	s.class.tell()
}

var errNoVote = errors.New("nobody has voted: without a prediction nothing is seen. " +
	"The phones' page also opens on this machine")

// vote opens the vote, or closes it and lets the class buy.
func (s *Stage) vote() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.phase == ready:
		s.setPhase(voting)
	case s.phase == voting && s.class.voted(0) == 0:
		return errNoVote
	case s.phase == voting:
		s.setPhase(buying)
	default:
		return errors.New("the class has voted: R begins the round anew")
	}
	return nil
}

// ask freezes the picture and asks what the class has seen.
func (s *Stage) ask() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != buying {
		return errors.New("what did you see? comes after the class has bought")
	}
	s.setPhase(asking)
	return nil
}

// verdict lets all come to its end, and shows what the audit says.
func (s *Stage) verdict() error {
	s.mu.Lock()
	if s.phase != asking {
		s.mu.Unlock()
		return errors.New("the verdict comes after the class has said what it saw: press W")
	}
	s.setPhase(judging)
	s.mu.Unlock()
	close(s.shop.over)
	go func() {
		j := <-s.played
		s.played <- j
		s.judged(j)
	}()
	return nil
}

// everybody lets each person buy that is here.
func (s *Stage) everybody() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.class.persons {
		if len(p.streams) > 0 {
			s.order(p, fmt.Sprintf("all-%d", len(p.taps)))
		}
	}
}

// order sends an order of a person. The caller has the lock.
func (s *Stage) order(p *person, id string) {
	t := &tap{ID: id, State: "sent"}
	p.taps, p.tapped = append(p.taps, t), time.Now()
	shop := s.shop
	t.Order = shop.buy(p.name, p.colour, p.at, func(o *order) {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.State, t.Said, t.Units, t.Why = "done", string(o.op.Outcome), o.op.Units, o.op.Detail
		for _, unit := range o.op.Units {
			s.tellTwice(shop, unit)
		}
		p.tell()
	})
	p.tell()
}

// tellTwice tells the persons of a unit that was sold twice of each other. The caller has the lock.
func (s *Stage) tellTwice(shop *shop, unit int64) {
	buyers := shop.buyers(unit)
	if len(buyers) < 2 {
		return
	}
	for _, p := range s.class.persons {
		if !slices.Contains(buyers, p.name) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(buyers), func(name string) bool { return name == p.name })
		i := slices.IndexFunc(p.twice, func(t soldTwice) bool { return t.Unit == unit })
		if i < 0 {
			p.twice, i = append(p.twice, soldTwice{Unit: unit}), len(p.twice)
		}
		p.twice[i].With = others
		p.tell()
	}
}

func (s *Stage) tellPhones() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.class.tell()
}

// A classEvent is what the wall is told of the class.
type classEvent struct {
	Persons int            `json:"persons"`
	Here    int            `json:"here"`
	Voted   int            `json:"voted"`
	LAN     bool           `json:"lan"`
	Turns   map[string]int `json:"turns,omitempty"`
	First   *count         `json:"first"`
	Second  *count         `json:"second"`
}

// tellClass tells the wall of the class. What was voted is told when the vote is closed. The caller has the lock.
func (s *Stage) tellClass() {
	e := classEvent{Persons: len(s.class.persons), Here: s.class.here(), LAN: s.class.lan, Turns: s.class.turns}
	switch s.phase {
	case ready, voting:
		e.Voted = s.class.voted(0)
	case buying:
		e.First = s.class.count(0)
	case asking:
		e.Voted, e.First = s.class.voted(1), s.class.count(0)
	default:
		e.First, e.Second = s.class.count(0), s.class.count(1)
	}
	s.record.add("class", e)
}

// roundEvent is what the wall is told of a round when it begins.
func (s *Stage) roundEvent() any {
	r := s.rounds[s.number]
	var titles []string
	for _, one := range s.rounds {
		titles = append(titles, one.Title)
	}
	return map[string]any{"round": map[string]any{"number": s.number + 1, "of": len(s.rounds), "title": r.Title,
		"rung": r.rung.Number, "name": r.rung.Name, "situation": r.Situation, "question": r.Question, "do": r.Do,
		"look": r.Look, "trace": r.Trace, "lease": r.Lease.Milliseconds(), "stock": onShelf, "next": r.Next,
		"diff": r.diff, "buttons": s.shop.buttons(), "titles": titles, "phones": s.options.Phones,
		"lan": s.options.LAN}}
}

// compare finds the lines that differ between the rung and the next one. Without the code there are none to show.
func (r *Round) compare(ctx context.Context, stockapi string) {
	if r.Next == "" {
		return
	}
	var texts [2]string
	for i, number := range []string{r.Rung, r.Next} {
		text, err := exec.CommandContext(ctx, stockapi, "source", number).Output()
		if err != nil {
			return
		}
		texts[i] = strings.TrimSpace(string(text))
	}
	r.diff = diff(texts[0], texts[1])
}

// NewCode returns the code of a room: four letters that are not mistaken for others.
func NewCode() string {
	code := make([]byte, 4)
	_, _ = rand.Read(code) // it never fails
	const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	for i := range code {
		code[i] = alphabet[int(code[i])%len(alphabet)]
	}
	return string(code)
}
