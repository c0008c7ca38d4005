package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// Pass implements [rig.User]: it lets time pass until a client that is not held moves, or until just after the next key
// expires.
func (p *player) Pass(ctx context.Context, m schedule.Move) error {
	begun := time.Now()
	if m.Verb == schedule.Hold.Verb() {
		c := p.clients[m.Who]
		if !c.order.IsUnderWay() {
			return fmt.Errorf("%s has no order in flight", c.Name)
		}
		p.gate.Change(func() { c.Held = true })
	}
	waiting := p.firstWaiting()
	early := p.gate.takeEarly()
	if m.Verb == schedule.Time.Verb() { // in the explorer only held clients have commands waiting then
		for c := range waiting {
			early = early || !c.Held
		}
	}
	if !early {
		if err := p.elapse(ctx); err != nil {
			return err
		}
	}
	for c, cmd := range waiting {
		p.Note(c.Index, c.order, rig.HoldFault(time.Since(begun), "before "+cmd.Text(), 0), begun)
	}
	p.rig.Quiet(ctx)
	p.passed = time.Now()
	p.gate.takeEarly() // commands that are here by now arrived because time passed
	return nil
}

// elapse waits until a command arrives or the next key expires.
func (p *player) elapse(ctx context.Context) error {
	p.gate.Forget()
	until, err := p.expiry(ctx)
	if err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-p.gate.Arrived:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// expiry returns when the next key expires or, if none expires soon, when to stop waiting. Keys set since time last
// passed were set at one instant in the explorer, and expire at one instant. Here they expire one after the other, so
// the last one counts.
func (p *player) expiry(ctx context.Context) (time.Time, error) {
	var ends []time.Time
	now := time.Now()
	for _, node := range p.nodes {
		of, err := node.expiries(ctx)
		if err != nil {
			return now, fmt.Errorf("read the expiries on server %s: %w", node.Name, err)
		}
		ends = append(ends, of...)
	}
	slices.SortFunc(ends, time.Time.Compare)
	until := now.Add(p.times.idle)
	if len(ends) == 0 || ends[0].After(until) {
		return until, nil
	}
	together := ends[0].Add(now.Sub(p.passed))
	for _, end := range ends {
		if !end.After(together) {
			until = end
		}
	}
	return until.Add(afterExpiry), nil
}

// firstWaiting returns the first waiting command of each live client that has one.
func (p *player) firstWaiting() map[*participant]*wire.Command {
	waiting := map[*participant]*wire.Command{}
	for _, c := range p.clients {
		if own := p.gate.Of(&c.Client); !c.Dead && len(own) > 0 {
			waiting[c] = own[0]
		}
	}
	return waiting
}
