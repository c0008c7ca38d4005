package replay

import (
	"context"
	"fmt"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A player plays the steps of one trace.
type player struct {
	trace   schedule.Trace
	times   times
	gate    *gate
	rig     *rig.Player
	clients []*participant
	stock   *store
	nodes   []*store // the lock servers
	cell    *history.Cell
	began   time.Time // at the first step
	passed  time.Time // when time last passed
	show    func(Line)
}

// A participant is a client of the trace: its instance and its order.
type participant struct {
	*rig.End
	order *rig.InFlight
	buy   func(ctx context.Context) history.Op
	late  []int64 // the units that its late writes took
}

// Send implements [rig.User]: it sends the order of a client when the trace first names it. In the explorer an order
// that has sent nothing restarts when time passes, so sending it late is equivalent.
func (p *player) Send(ctx context.Context, m schedule.Move, _ rig.Scene, _ <-chan struct{}) *rig.InFlight {
	c := p.clients[m.Who]
	c.order.Send(ctx, c.buy)
	go func() {
		<-c.order.Done()
		p.gate.Notice()
	}()
	return c.order
}

// Note implements [rig.User].
func (p *player) Note(at int, o *rig.InFlight, f history.Fault, since time.Time) {
	if o == nil {
		o = p.clients[at].order
	}
	o.Note(p.cell, f, since, time.Now())
}

// play takes the steps one by one.
func (p *player) play(ctx context.Context) error {
	p.began = time.Now()
	p.passed = p.began
	for i, step := range p.trace.Steps {
		line := Line{Step: step, Who: -1}
		p.gate.Change(func() { p.gate.still = isStill(step) })
		if err := p.take(ctx, i, &line); err != nil {
			return p.stuck(i, err)
		}
		var given string
		p.gate.Change(func() { given = p.gate.given })
		if given != "" {
			return p.stuck(i, fmt.Errorf("%s: the machine is too slow", given))
		}
		line.After, line.Holds = time.Since(p.began), p.holds(ctx, step)
		p.record(line)
		p.show(line)
	}
	return nil
}

// record adds a step that was taken to the cell.
func (p *player) record(l Line) {
	step := history.Step{What: l.What, Holds: l.Holds, At: history.At(p.cell.Start, p.began.Add(l.After))}
	if l.Who >= 0 {
		step.Client = p.clients[l.Who].Name
	}
	p.cell.Steps = append(p.cell.Steps, step)
}

// isStill reports whether no time is to pass in a step.
func isStill(s schedule.Step) bool {
	switch s.Kind {
	case schedule.Grant, schedule.LoseRequest, schedule.LoseReply, schedule.Late, schedule.Arrive, schedule.Drop:
		return true
	}
	return false
}

// stuck is the error of a step that cannot be taken.
func (p *player) stuck(i int, err error) error {
	return fmt.Errorf("step %d of the trace, %s, cannot be taken: %w; waiting: %s", i+1, p.trace.Steps[i], err,
		p.gate.text(p.clients))
}

// take takes step i, and records on the line what it did.
func (p *player) take(ctx context.Context, i int, line *Line) (err error) {
	s := line.Step
	if s.NamesClient() {
		line.Who = s.Who
	}
	if s.ByClient() {
		p.gate.Change(func() { p.gate.stepping = &p.clients[s.Who].Client })
		defer p.gate.Change(func() { p.gate.stepping = nil })
	}
	line.What, err = p.rig.Step(ctx, p.trace.Steps, i)
	if line.Step.Kind == schedule.Arrive && err == nil {
		p.noteLateSale(ctx, p.clients[line.Who])
	}
	return err
}

// noteLateSale records the unit that a late write has just taken: its order never gets the reply, and sends no later
// write.
func (p *player) noteLateSale(ctx context.Context, c *participant) {
	for _, cmd := range p.gate.LogOf(&c.Client) {
		of := cmd.Traced()
		if left, err := p.left(ctx); err == nil && cmd.Decision == schedule.ComesLate && of.Wrote() && c.late == nil {
			c.late = []int64{left + 1}
		}
	}
}

// finish lets everything run to completion, then waits as long as the explorer does before its last attempt to acquire
// the lock. It returns the numbers of the live instances.
func (p *player) finish(ctx context.Context) (alive []int, err error) {
	p.gate.Change(func() { p.gate.still = false })
	for _, node := range p.nodes {
		p.rig.BringBack(node.Store)
	}
	p.gate.OpenAll()
	timer := time.NewTimer(p.times.lease + p.times.margin)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for i, c := range p.clients {
		if !c.Dead {
			alive = append(alive, i)
		}
	}
	return alive, nil
}

// end ends the orders that are still under way, and returns all that were sent.
func (p *player) end() (ops []history.Op) {
	for _, c := range p.clients {
		if c.order.Sent.IsZero() {
			continue
		}
		c.order.HangUp()
		op := &c.order.Op
		if c.Dead && !p.gate.Wrote(&c.Client, time.Time{}) {
			op.KilledBeforeWrite(c.Name)
		}
		if op.Outcome == history.Unknown && len(op.Units) == 0 {
			op.Units = c.late
		}
		wire.Narrow(op, p.cell.Start, p.gate.LogOf(&c.Client))
		ops = append(ops, *op)
	}
	return ops
}
