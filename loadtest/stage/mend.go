package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/schedule"
)

// A mend is the fix of a round, played after the verdict: Anna and Bert repeat the fault on the rung that fixes it.
type mend struct {
	rung catalog.Rung
	line schedule.Line
	hold string // the fault that holds Anna's order at the mark of the first step
}

// holds are the faults that hold Anna's order, by the step that does so. After the read she works, which a rung may
// cancel. Before the write she is past the rung's last check of its lease.
var holds = map[string]string{"a<read": "work@after:read", "a>write": "hold@before:write"}

// playable are the other steps of a line that a stage can play.
var playable = []string{"a>end", "b>end", "expiry", "stop-a", "continue-a", "cut-a", "join-a", "crash-a"}

// deeds are the actions of the teacher's page, by the verbs of a line that have the same effect.
var deeds = map[string]string{"stop": "pause", "continue": "continue", "cut": "cut", "join": "continue",
	"crash": "kill"}

// readMend parses a fix: a rung, a colon, and a line.
func readMend(text string) (*mend, error) {
	number, line, _ := strings.Cut(text, ":")
	m := &mend{rung: catalog.RungOf(number)}
	if m.rung.Number == "" {
		return nil, fmt.Errorf("play: there is no rung %q: it is like v5:a<read.expiry.b>end.a>end", number)
	}
	if m.rung.Kind != catalog.Redis && m.rung.Kind != catalog.Nodes {
		return nil, fmt.Errorf("play: %s cannot be shown: its locks are not in Redis", number)
	}
	first, rest, _ := strings.Cut(line, ".")
	if m.hold = holds[first]; m.hold == "" {
		return nil, fmt.Errorf("play: %q cannot be the first step: use a<read or a>write", first)
	}
	for word := range strings.SplitSeq(rest, ".") {
		if !slices.Contains(playable, word) {
			return nil, fmt.Errorf("play: %q cannot be shown: after the first step use %s", word,
				strings.Join(playable, " "))
		}
	}
	var err error
	if m.line, err = schedule.ParseLine(line); err != nil {
		return nil, fmt.Errorf("play: %w", err)
	}
	return m, nil
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
	r.rung, r.Rung, r.Fault, r.steps, r.Title = r.mend.rung, r.mend.rung.Number, r.mend.hold, nil, "mend: "+r.Title
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
	for _, move := range r.mend.line {
		if err := shop.move(ctx, move); err != nil {
			return err
		}
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

// move plays a step of a line.
func (s *shop) move(ctx context.Context, m schedule.Move) error {
	anna, site := s.firstOf(0), s.sites[0]
	switch {
	case m.Verb == "expiry":
		return s.awaitExpiry(ctx)
	case m.Verb != "":
		return s.inject(deeds[m.Verb], site)
	case m.Who == 1: // Bert may have to wait for Anna
		s.buyAs(1)
		return s.wait(ctx, s.firstOf(1).Done(), s.round.Lease/2)
	case m.Mark != schedule.End:
		s.buyAs(0)
		return s.awaitHold(ctx)
	}
	if err := s.endHolds(site); err != nil {
		return err
	}
	return s.wait(ctx, anna.Done(), s.round.Wait)
}

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

// awaitHold waits until Anna's order is held.
func (s *shop) awaitHold(ctx context.Context) error {
	came, err := s.await(ctx, s.round.Wait, func() (bool, error) {
		held, err := s.client.HeldOrders(ctx, s.sites[0].In.URL)
		return len(held) > 0, err
	})
	if err == nil && !came {
		err = errors.New("the order of Anna did not reach " + s.round.Fault)
	}
	return err
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
