package trial

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/learn"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// Options are those of a trial.
type Options struct {
	Shop shop.Options
	Selection
}

// A Selection says which cells are played, and how.
type Selection struct {
	Quick  bool     // play only the most telling cells
	Only   []string // names of cells; none: all, unless there are lines
	Play   []string // lines to play as cells
	AtOnce int      // cells at a time
	Every  *Range   // what of every order of commands is played instead of cells; nil: nothing
}

// A Trial is the trial of one shop.
type Trial struct {
	shop *shop.Shop
	Selection
	passport *sale.Passport
	stalls   *load.StallMeter

	mu   sync.Mutex
	idle []*record.Bench

	unbalanced string // why the count proves nothing; "" if it balances
}

// New starts a trial. The returned context is cancelled when one of its servers dies. Close it.
func New(ctx context.Context, o Options) (*Trial, context.Context, error) {
	if err := errors.Join(o.Shop.Check(), checkOnly(&o.Selection), checkLines(o.Play)); err != nil {
		return nil, ctx, err
	}
	bed, ctx, err := rig.OpenForeign(ctx, o.Shop.Say)
	if err != nil {
		return nil, ctx, err
	}
	return &Trial{shop: shop.New(o.Shop, bed), Selection: o.Selection, stalls: load.NewStallMeter()}, ctx, nil
}

// Learn learns what the lock of the shop is: see [learn.Passport].
func (t *Trial) Learn(ctx context.Context) (p *sale.Passport, err error) {
	t.passport, err = learn.Passport(ctx, t.shop)
	return t.passport, err
}

// Close stops everything that the trial has started.
func (t *Trial) Close() error {
	for _, b := range t.idle {
		b.Pair.Close()
	}
	t.stalls.Close()
	return t.shop.Bed.Close()
}

// Run plays the cells side by side, and then again, one at a time, those that a busy machine decided. It returns them
// in order; one that could not be played has the reason. It calls finished with each result, one at a time.
func (t *Trial) Run(ctx context.Context, finished func(*history.Cell)) ([]*history.Cell, error) {
	faults, err := t.chosen()
	if err != nil {
		return nil, err
	}
	play := func(f fault) *history.Cell {
		c, err := t.one(ctx, f)
		if err != nil {
			c = t.notTested(f, "it could not be played: "+strings.ReplaceAll(err.Error(), "\n", "; "))
			c.NotTested.Failed = true
		}
		return c
	}
	atOnce := t.AtOnce
	if t.shop.IsShared() {
		atOnce = 1
	}
	if err := t.control(ctx, t.passport.Limit()); err != nil {
		return nil, err
	}
	results := playAll(ctx, faults, atOnce, play, finished)
	longest := time.Duration(0)
	for _, c := range results {
		if c != nil {
			longest = max(longest, c.Elapsed)
		}
	}
	if err := t.control(ctx, min(longest, sale.MostLease)); err != nil && ctx.Err() == nil {
		return results, err
	}
	t.recount(results)
	results = slices.DeleteFunc(results, func(c *history.Cell) bool { return c == nil })
	cause.OfCrowds(results)
	return results, context.Cause(ctx)
}

// playAll plays the cells of these faults, atOnce at a time, and returns them in order. Void cells are played again at
// the end, alone. A cell is nil if it was still running when the context was cancelled.
func playAll(
	ctx context.Context, faults []fault, atOnce int, play func(fault) *history.Cell, finished func(*history.Cell),
) []*history.Cell {
	results := make([]*history.Cell, len(faults))
	var telling sync.Mutex
	playOne := func(i int, last bool) {
		c := play(faults[i])
		if ctx.Err() != nil {
			return
		}
		telling.Lock()
		defer telling.Unlock()
		if results[i] = c; last || !c.IsVoid() {
			finished(c)
		}
	}
	limit, all := make(chan struct{}, atOnce), sync.WaitGroup{}
	for i := range faults {
		limit <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-limit }()
			playOne(i, false)
		})
	}
	all.Wait()
	for i, c := range results {
		if c != nil && c.IsVoid() && ctx.Err() == nil {
			playOne(i, true)
		}
	}
	return results
}

// Planned returns how many cells [Trial.Run] plays.
func (t *Trial) Planned() (int, error) {
	faults, err := t.chosen()
	return len(faults), err
}

// chosen returns the selected faults.
func (t *Trial) chosen() (chosen []fault, err error) {
	all := faultsFor(t.passport)
	if len(t.Only)+len(t.Play) == 0 {
		return slices.DeleteFunc(all, func(f fault) bool { return t.Quick && !f.quick }), nil
	}
	for _, name := range t.Only {
		of, err := named(all, name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, of...)
	}
	for _, line := range t.Play {
		f := fault{name: line, line: line}
		isOf := func(f fault) bool { return f.line == line || slices.Contains(f.lines, line) }
		if i := slices.IndexFunc(all, isOf); i >= 0 {
			f = all[i]
			f.line, f.lines = line, nil
		}
		chosen = append(chosen, f)
	}
	return chosen, nil
}

// named returns the faults of that name, with or without a number.
func named(all []fault, name string) ([]fault, error) {
	of := slices.DeleteFunc(slices.Clone(all), func(f fault) bool {
		return f.name != name && !strings.HasPrefix(f.name, name+" ")
	})
	if len(of) > 0 {
		return of, nil
	}
	var names []string
	for _, f := range all {
		names = append(names, f.name)
	}
	return nil, fmt.Errorf("no cell %q: the cells are %s", name, strings.Join(names, ", "))
}

// numbered matches a cell of one command of a sale. How many commands a sale has is unknown until it is learned.
var numbered = regexp.MustCompile(`^(request-lost|reply-lost|delayed-reply|error-reply) [1-9]\d*$`)

// checkOnly returns an error for a name that no cell of any shop has.
func checkOnly(of *Selection) error {
	if of.Every != nil { // they are those of faults
		return nil
	}
	all := ofAnyShop()
	for _, name := range of.Only {
		if _, err := named(all, numbered.ReplaceAllString(name, "$1 N")); err != nil {
			return err
		}
	}
	return nil
}

// checkLines returns an error if one of these is not a line.
func checkLines(lines []string) error {
	for _, line := range lines {
		if _, err := schedule.ParseLine(line); err != nil {
			return fmt.Errorf("--play: %w", err)
		}
	}
	return nil
}

// one plays a cell if the shop meets its requirements.
func (t *Trial) one(ctx context.Context, f fault) (*history.Cell, error) {
	if f.lines != nil {
		return t.each(f, func(one fault) (*history.Cell, error) { return t.one(ctx, one) })
	}
	if why := f.whyNot(t.passport); why != "" {
		return t.notTested(f, why), nil
	}
	c, err := t.once(ctx, f)
	if f.units = t.scarce(c); err != nil || f.units == 0 {
		return c, err
	}
	again, err := t.once(ctx, f)
	return mostTelling([]*history.Cell{c, again}), err
}

// notTested returns a cell that was not played.
func (t *Trial) notTested(f fault, why string) *history.Cell {
	c := record.NewCell(t.shop, t.passport, f.name, f.line)
	c.NotTested = &history.NotTested{Reason: why}
	return c
}

// once plays a cell on a bench, which is kept for another cell unless this one has left something there.
func (t *Trial) once(ctx context.Context, f fault) (*history.Cell, error) {
	b, err := t.idleBench(ctx)
	if err != nil {
		return nil, err
	}
	r, err := t.play(b, f)
	if err != nil || !isFit(b) {
		b.Pair.Close()
		return r, err
	}
	t.giveBack(b)
	return r, nil
}

// giveBack keeps a bench for another cell.
func (t *Trial) giveBack(b *record.Bench) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, b)
}

// idleBench returns a bench on which no cell is played: one that is left, or a new one.
func (t *Trial) idleBench(ctx context.Context) (*record.Bench, error) {
	if b := t.takeIdle(); b != nil {
		return b, nil
	}
	return learn.Warm(ctx, t.shop, t.passport)
}

// takeIdle returns a bench that is left, nil if none is.
func (t *Trial) takeIdle() (b *record.Bench) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		b, t.idle = t.idle[n-1], t.idle[:n-1]
	}
	return b
}
