package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
)

// givesUpNext reports whether the next step after step i that concerns a client or lets time pass is that the caller of
// this client goes.
func (p *player) givesUpNext(i int, c *participant) bool {
	for _, s := range p.trace.Steps[i+1:] {
		switch {
		case s.Kind == schedule.GiveUp && s.Who == c.Index:
			return true
		case s.OfServer() || s.NamesClient() && s.Who != c.Index:
			continue
		}
		return false
	}
	return false
}

// giveUp has the caller of an order go. A command that was sent cannot be taken back, and the explorer's order finds
// out before it sends one. So the reply to the command before that is passed on only when the caller has gone.
func (p *player) giveUp(ctx context.Context, line *Line) error {
	c := p.clients[line.Step.Who]
	line.Who, line.What = c.Index, line.Step.Text("", "")
	if !c.order.IsUnderWay() {
		return fmt.Errorf("%s has no order in flight", c.Name)
	}
	p.gate.Change(func() { p.gate.stepping = &c.Client })
	defer p.gate.Change(func() { p.gate.stepping = nil })
	if c.reply == nil && len(p.gate.Of(&c.Client)) > 0 {
		return fmt.Errorf("%s has sent its command, and in the explorer it does not", c.Name)
	}
	p.note(c, time.Now(), rig.StepFault(line.Step, ""))
	c.order.HangUp()
	p.rig.Quiet(ctx)
	if c.reply != nil {
		close(c.reply)
		c.reply = nil
		p.rig.Quiet(ctx)
	}
	return nil
}

// toServer does something to a lock server.
func (p *player) toServer(ctx context.Context, line *Line) (err error) {
	node := p.nodes[line.Step.Who]
	begun := time.Now()
	line.What = line.Step.Text("", schedule.ServerName(line.Step.Who, len(p.nodes)))
	switch line.Step.Kind {
	case schedule.NodeDown:
		p.rig.TakeDown(node.Store)
		p.noteServer(begun, "could not be reached")
	case schedule.NodeBack:
		p.rig.BringBack(node.Store)
	case schedule.NodeEmpty:
		err = node.Redis.FlushAll(ctx).Err()
		p.noteServer(begun, "lost all its data")
	default:
		err = errors.New(p.trace.VirtualOnly())
	}
	p.rig.Quiet(ctx)
	return err
}

// note records a fault of a client's order.
func (p *player) note(c *participant, begun time.Time, f history.Fault) {
	c.order.Note(p.cell, f, begun, time.Now())
}

// noteServer records a fault of a lock server, of which the first order that is under way is the victim.
func (p *player) noteServer(begun time.Time, what string) {
	victim := p.clients[0]
	for _, c := range slices.Backward(p.clients) {
		if c.order.IsUnderWay() {
			victim = c
		}
	}
	p.note(victim, begun, rig.ServerFault(what))
}
