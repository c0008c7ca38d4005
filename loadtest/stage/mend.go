package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A mend is the fix of a round, played after the verdict: Anna and Bert repeat the fault on the rung that fixes it.
type mend struct {
	rung catalog.Rung
	line schedule.Line
}

// atWork is the fault that holds Anna's order at work, which a rung may cancel: the mark a<read of a line.
const atWork = "work@after:read"

// works reports whether Anna's order is held at work.
func (r *Round) works() bool {
	return slices.ContainsFunc(r.line, func(m schedule.Move) bool { return m.Mark == schedule.Read })
}

// readMend reads a fix: a rung, a colon, and a line.
func readMend(text string) (*mend, error) {
	number, words, _ := strings.Cut(text, ":")
	m := &mend{rung: catalog.RungOf(number)}
	if m.rung.Number == "" {
		return nil, fmt.Errorf("play: there is no rung %q: it is like v5:a<read.expiry.b>end.a>end", number)
	}
	if m.rung.Kind != catalog.Redis && m.rung.Kind != catalog.Nodes {
		return nil, fmt.Errorf("play: %s cannot be shown: its locks are not in Redis", number)
	}
	var err error
	m.line, err = readLine("play", words, canShow,
		"a<read, a>write, a>end, b>end, expiry, and stop, continue, cut, join or crash with -a")
	return m, err
}

// readLine reads the line of a field, whose moves the stage can play. Use names those.
func readLine(field, words string, canPlay func(schedule.Move) bool, use string) (schedule.Line, error) {
	line, err := schedule.ParseLine(words)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	for i, word := range strings.Split(words, ".") {
		if i >= len(line) || !canPlay(line[i]) {
			return nil, fmt.Errorf("%s: %q cannot be shown: use %s", field, word, use)
		}
	}
	return line, nil
}

// keysOf are the actions of the teacher that do what a verb of a round's fault does.
var keysOf = map[string]string{"stop": "pause", "cut": "cut", "crash": "kill"}

// canHit reports whether the stage can play a move as the fault of a round, while the class buys.
func canHit(m schedule.Move) bool {
	return canShow(m) && m.Who == 0 && (keysOf[m.Verb] != "" || m.Verb == "" && m.Mark != schedule.End)
}

// buyFirst sends an order of Anna or Bert. If it is Anna's, and the first at a, the fault of the round happens to it.
func (s *shop) buyFirst(who int) {
	if who != 0 || len(s.round.line) == 0 || s.firstOf(0) != nil {
		s.buyAs(who)
		return
	}
	anna := hitting{mending{s}, make(chan struct{})}
	s.hits.Go(func() {
		player := rig.Player{Rig: s.rig.Rig, User: anna, Marks: anna}
		for _, m := range s.round.line {
			if m.Verb == "" {
				if player.Move(s.ctx, m) != nil {
					return // her order has ended, or was refused the lock
				}
				continue
			}
			err := s.inject(keysOf[m.Verb], s.sites[m.At])
			if err != nil && !errors.As(err, new(refusal)) { // refused: the teacher was quicker
				s.record.add("trouble", event{"error": err.Error()})
				return
			}
		}
	})
	<-anna.sent
}

// goOn passes on the write that the fault of the round holds. The caller holds s.mu.
func (s *shop) goOn() {
	if t := s.trap; t != nil && rig.HasCaught(t) {
		t.GoOn()
	}
}

// A hitting is a shop in which the fault of its round happens to Anna's order.
type hitting struct {
	mending
	sent chan struct{} // closed when her order is
}

// Send implements [rig.User].
func (s hitting) Send(ctx context.Context, m schedule.Move, around rig.Scene, reached <-chan struct{}) *rig.InFlight {
	defer close(s.sent)
	return s.mending.Send(ctx, m, around, reached)
}

// Catch implements [rig.Marks].
func (s hitting) Catch(m schedule.Move, around rig.Scene) rig.Trap {
	t := s.mending.Catch(m, around)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trap, _ = t.(*rig.CommandTrap)
	return t
}

// AtMost implements [rig.Marks]: her order may wait for the lock, and its work may be slow.
func (s hitting) AtMost(schedule.Move, rig.Scene) time.Duration {
	return s.round.Wait + s.longWork() + maxWork
}

// canShow reports whether the stage can play a move: Anna buys at a, and Bert at b.
func canShow(m schedule.Move) bool {
	switch {
	case m.Verb == "expiry":
		return true
	case m.Who > 1 || m.At != m.Who:
		return false
	case m.Verb != "":
		return m.Who == 0 && slices.Contains([]string{"stop", "continue", "cut", "join", "crash"}, m.Verb)
	}
	return m.Mark == schedule.End || m.Who == 0 && (m.Mark == schedule.Read && m.Reply || m.Mark == schedule.Write)
}

// playMend starts to play the fix of the round, and shows it on the wall once it has been judged. Phones cannot buy.
func (s *Stage) playMend(phase string) error {
	round := &s.Rounds[s.number]
	switch {
	case round.mend == nil:
		return refuse("error.mend")
	case phase != judged || s.mending != nil:
		return refuse("error.mending")
	}
	r := *round
	r.rung, r.Rung, r.line, r.steps, r.Title = r.mend.rung, r.mend.rung.Number, r.mend.line, nil, "mend: "+r.Title
	s.record.add("mend", event{"rung": r.Rung, "name": r.rung.Name})
	ctx, cancel := context.WithCancel(s.ctx)
	s.mending = func() { cancel(); s.mended.Wait() }
	s.mended.Go(func() {
		defer cancel()
		if err := s.showMend(ctx, &r); err != nil && ctx.Err() == nil {
			s.record.add("trouble", event{"error": err.Error()})
		}
	})
	return nil
}

// showMend plays a round by its line, and sends the result to the wall.
func (s *Stage) showMend(ctx context.Context, r *Round) error {
	over := make(chan error, 1)
	mute := newRecord(nil) // its events are not those of the class
	mute.start = s.record.start
	nobody := func(map[int64][]string) {}
	shop, err := newShop(ctx, s.bed, s.token, r, mute, nobody, func(_ *shop, err error) { over <- err })
	if err != nil {
		return err
	}
	defer shop.close()
	player := rig.Player{Rig: shop.rig.Rig, User: mending{shop}, Marks: mending{shop}}
	for _, move := range r.line {
		if err := player.Move(ctx, move); err != nil {
			return err
		}
	}
	if err := player.Finish(); err != nil {
		return err
	}
	close(shop.over)
	select {
	case err = <-over:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	shop.mu.Lock()
	defer shop.mu.Unlock()
	findings := []event{}
	for _, f := range shop.cell.Findings {
		if letter := terminal.Letters[f.Verdict]; letter != "" && strings.Contains(letters, letter) {
			findings = append(findings, event{"letter": letter, "result": f.Result})
		}
	}
	s.record.add("mend", event{"rung": r.Rung, "name": r.rung.Name, "findings": findings,
		"drawing": shop.lanes(shop.cell.Findings)})
	return nil
}

// A mending is a shop in which a fix is played.
type mending struct{ *shop }

// Send implements [rig.User].
func (s mending) Send(_ context.Context, m schedule.Move, _ rig.Scene, _ <-chan struct{}) *rig.InFlight {
	s.buyAs(m.Who)
	return s.firstOf(m.At)
}

// Sell implements [rig.Marks]: Bert may have to wait for Anna.
func (s mending) Sell(ctx context.Context, m schedule.Move, around rig.Scene) *rig.InFlight {
	o := s.Send(ctx, m, around, nil)
	_ = s.wait(ctx, o.Done(), s.AtMost(m, around))
	return o
}

// AtMost implements [rig.Marks].
func (s mending) AtMost(m schedule.Move, _ rig.Scene) time.Duration {
	if m.Who == 1 {
		return s.round.Lease / 2
	}
	return s.round.Wait
}

// Pass implements [rig.User]: of all moves without a subject it knows expiry.
func (s mending) Pass(ctx context.Context, _ schedule.Move) error { return s.awaitExpiry(ctx) }

// Note implements [rig.User]. Who died is recorded when the process has exited.
func (s mending) Note(at int, o *rig.InFlight, f history.Fault, since time.Time) {
	if o == nil {
		o = s.firstOf(at)
	}
	if f.Kind == history.FaultKill || o == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Note(s.cell, f, since, time.Now())
	s.redraw = true
}

// Catch implements [rig.Marks]: an order at work, or its write at the wire.
func (s mending) Catch(m schedule.Move, _ rig.Scene) rig.Trap {
	if m.Mark == schedule.Write {
		return s.rig.SetTrap(&rig.CommandTrap{At: m.At, Is: func(cmd *wire.Command) bool { return cmd.WritesStock() }})
	}
	t := &workTrap{shop: s.shop, at: s.sites[m.At], caught: make(chan struct{})}
	go func() {
		if came, err := s.await(s.ctx, s.round.Wait, t.holds); came && err == nil {
			close(t.caught)
		}
	}()
	return t
}

// Name implements [rig.Marks].
func (s mending) Name(m schedule.Move, _ rig.Trap) (name string, reply bool) {
	if m.Mark == schedule.Read {
		return "work", false
	}
	return m.Mark, false
}

// Rest implements [rig.Marks]: nothing goes on after an order.
func (s mending) Rest(context.Context, *rig.InFlight) {}

// Stuck implements [rig.Marks].
func (s mending) Stuck(m schedule.Move, _ rig.Scene, t rig.Trap) error {
	if t == nil || rig.HasCaught(t) {
		return nil
	}
	name, _ := s.Name(m, t)
	return errors.New("the order of Anna did not reach its " + name)
}

// A workTrap catches an order at work, by the fault with which it was sent.
type workTrap struct {
	*shop
	at     *site
	caught chan struct{}
}

func (t *workTrap) holds() (bool, error) {
	held, err := t.client.HeldOrders(t.ctx, t.at.In.URL)
	return len(held) > 0, err
}

// Caught implements [rig.Trap].
func (t *workTrap) Caught() <-chan struct{} { return t.caught }

// GoOn implements [rig.Trap]. An instance that is stopped gets the request once it continues.
func (t *workTrap) GoOn() { go func() { _ = t.endHolds(t.at) }() }

// Lose implements [rig.Trap]: work cannot be lost, so it goes on.
func (t *workTrap) Lose() { t.GoOn() }

// wait waits for done, for at most atMost.
func (s *shop) wait(ctx context.Context, done <-chan struct{}, atMost time.Duration) error {
	select {
	case <-done:
	case <-time.After(atMost):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// awaitExpiry waits until no key is left, but no longer than a lease and a quarter: it may be renewed.
func (s *shop) awaitExpiry(ctx context.Context) error {
	_, err := s.await(ctx, s.round.Lease+s.round.Lease/4, func() (bool, error) {
		now, _, err := s.look(ctx)
		return len(now.Keys) == 0, err
	})
	return err
}

// await polls has for at most atMost, and reports whether it returned true.
func (s *shop) await(ctx context.Context, atMost time.Duration, has func() (bool, error)) (bool, error) {
	for begun := time.Now(); time.Since(begun) < atMost; {
		if came, err := has(); came || err != nil {
			return came && err == nil, err
		}
		if err := s.wait(ctx, nil, pollGap); err != nil {
			return false, err
		}
	}
	return false, nil
}
