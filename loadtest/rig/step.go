package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// Step takes the ith of these steps of a trace, and returns what it did. The first step of a client sends its order.
func (p *Player) Step(ctx context.Context, steps []schedule.Step, i int) (did string, err error) {
	s := steps[i]
	switch {
	case s.OfServer():
		return p.toServer(ctx, s)
	case !s.ByClient():
		return s.Text("", ""), p.Pass(ctx, schedule.Move{Verb: s.Kind.Verb(), Who: s.Who})
	case s.Kind != schedule.Arrive && p.Ends[s.Who].Dead:
		return "", fmt.Errorf("%s %w", p.Ends[s.Who].Name, ErrDead)
	case s.Kind == schedule.GiveUp:
		return s.Text("", ""), p.giveUp(ctx, s)
	}
	return p.toCommand(ctx, s, givesUpNext(steps[i+1:], s.Who))
}

// toCommand takes a step that concerns a command.
func (p *Player) toCommand(ctx context.Context, s schedule.Step, givesUp bool) (did string, err error) {
	c := &p.clients[s.Who]
	if c.order == nil {
		p.send(ctx, schedule.Move{Who: s.Who, At: s.Who, Mark: schedule.Next}, p.Scene(s.Who), nil)
	}
	cmd, err := p.Await(ctx, p.Ends[s.Who], s)
	order := c.order
	switch {
	case errors.Is(err, ErrNotSent) && order.HasEnded():
		return "", fmt.Errorf("the order of %s has ended: %s", p.Ends[s.Who].Name, order.Op.Outcome)
	case err != nil:
		return "", err
	}
	begun, text := time.Now(), cmd.Text()
	if s.IsFault() {
		defer func() { p.Note(order.At, order, StepFault(s, text), begun) }()
	}
	if s.Kind == schedule.Grant && givesUp && !cmd.Message && !cmd.Subscribes {
		if p.reply == nil {
			p.reply = map[int]chan struct{}{}
		}
		cmd.Deliver = make(chan struct{}) // the caller leaves before the reply: see giveUp
		p.reply[s.Who] = cmd.Deliver
	}
	err = p.Take(ctx, s.Kind, cmd)
	p.Settle(ctx, Patience)
	return s.Text(text, ""), err
}

// Await returns the command of an instance that a step names: one that waits at its wires, or for [schedule.Arrive] a
// late one.
func (p *Player) Await(ctx context.Context, e *End, step schedule.Step) (*wire.Command, error) {
	waiting := p.Gate.Of
	if step.Kind == schedule.Arrive {
		waiting = p.Gate.LateOf
	}
	for begun := time.Now(); ; p.pause(ctx) {
		p.Settle(ctx, Patience)
		if own := waiting(&e.Client); len(own) > step.Nth {
			return own[step.Nth], nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Since(begun) > Patience:
			return nil, fmt.Errorf("%s %w", e.Name, ErrNotSent)
		}
	}
}

// givesUpNext reports whether this client gives up before any other step of its own, and before time passes.
func givesUpNext(steps []schedule.Step, who int) bool {
	for _, s := range steps {
		switch {
		case s.Kind == schedule.GiveUp && s.Who == who:
			return true
		case s.OfServer() || s.NamesClient() && s.Who != who:
			continue
		}
		return false
	}
	return false
}

// giveUp makes the caller of an order leave. In the explorer the order notices before it sends its next command. A real
// one must not get the chance to send it, so the reply to its last command is delivered only after the caller has gone.
func (p *Player) giveUp(ctx context.Context, s schedule.Step) error {
	e, order, reply := p.Ends[s.Who], p.clients[s.Who].order, p.reply[s.Who]
	switch {
	case order == nil || !order.IsUnderWay():
		return fmt.Errorf("%s has no order in flight", e.Name)
	case reply == nil && len(p.Gate.Of(&e.Client)) > 0:
		return fmt.Errorf("%s has already sent the command that the explorer's order gives up", e.Name)
	}
	p.Note(order.At, order, StepFault(s, ""), time.Now())
	order.HangUp()
	p.Settle(ctx, Patience)
	if reply != nil {
		close(reply)
		delete(p.reply, s.Who)
		p.Settle(ctx, Patience)
	}
	return nil
}

// toServer takes a step of a lock server.
func (p *Player) toServer(ctx context.Context, s schedule.Step) (did string, err error) {
	locks := p.Stores[1:]
	if s.Who >= len(locks) {
		return "", fmt.Errorf("there are %d lock servers", len(locks))
	}
	server, begun := locks[s.Who], time.Now()
	switch s.Kind {
	case schedule.NodeDown:
		p.TakeDown(server)
		p.noteServer(begun, "could not be reached")
	case schedule.NodeBack:
		p.BringBack(server)
	case schedule.NodeEmpty:
		err = server.Redis.FlushAll(ctx).Err()
		p.noteServer(begun, "lost all its data")
	default:
		err = errors.New(schedule.Trace{Steps: []schedule.Step{s}}.VirtualOnly())
	}
	p.Settle(ctx, Patience)
	return s.Text("", schedule.ServerName(s.Who, len(locks))), err
}

// noteServer records a fault of a lock server, for the first order in flight.
func (p *Player) noteServer(begun time.Time, what string) {
	for _, o := range p.Orders() {
		if o.IsUnderWay() {
			p.Note(o.At, o, ServerFault(what), begun)
			return
		}
	}
	p.Note(0, nil, ServerFault(what), begun)
}
