package rig

import (
	"context"
	"slices"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// An instance whose orders go step by step sends no command on before its turn: all that are steps wait at its wires.

const (
	// restGap is how long nothing may come from instances whose threads all sleep, until they are at rest.
	restGap = 3 * time.Millisecond
	// silence is the same where the threads are unknown, and longest where they, or the wires, are never at rest.
	silence = 60 * time.Millisecond
	longest = 5 * silence
)

// TakeTurns makes the commands of an instance that are steps wait for their turns, or passes them on from now on.
func (r *Rig) TakeTurns(at int, isStep func(*wire.Command) bool) {
	r.trapsMu.Lock()
	r.Ends[at].isStep = isStep
	r.trapsMu.Unlock()
	r.Gate.Notice()
}

// TakesTurns reports whether the commands of an instance wait for their turns.
func (r *Rig) TakesTurns(at int) bool {
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	return r.Ends[at].isStep != nil
}

// seize returns a trap that has caught a command, or the reply to one whose Deliver is set. The command waits at the
// gate.
func (r *Rig) seize(at int, cmd *wire.Command, reply bool) *CommandTrap {
	t := &CommandTrap{At: at, Reply: reply, of: r, caught: make(chan struct{}), cmd: cmd}
	close(t.caught)
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	r.traps = append(r.traps, t)
	return t
}

// waiting returns the commands of an instance that wait for their turns, in the order in which a line counts them. One
// that its client has sent behind another on the same connection has no turn before that: no server could get it.
func (r *Rig) waiting(at int) []*wire.Command {
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	isStep := r.Ends[at].isStep
	if isStep == nil {
		return nil
	}
	all := r.Gate.Of(&r.Ends[at].Client)
	isBehind := func(cmd *wire.Command) bool {
		return slices.ContainsFunc(all, func(o *wire.Command) bool {
			return o.Server == cmd.Server && o.Conn == cmd.Conn && o.Message == cmd.Message && o.ID < cmd.ID
		})
	}
	return slices.DeleteFunc(slices.Clone(all), func(cmd *wire.Command) bool { return !isStep(cmd) || isBehind(cmd) })
}

// step carries out a command of an order that goes step by step, and returns once all orders are at rest. A client that
// was refused orders again. If the move asks for the reply, that is held until the order's next step.
func (p *Player) step(ctx context.Context, m schedule.Move, c *client) error {
	s := p.Scene(m.Who)
	p.TakeTurns(m.At, p.IsStep) // also if it went to a mark before
	p.HoldTurns()
	begins := len(c.held) == 0 && (c.order == nil || c.order.HasEnded())
	if begins {
		p.send(ctx, m, s, nil)
	}
	replied := len(c.held) > 0 && c.held[0].Reply
	switch came := p.awaitTurn(ctx, c, p.AtMost(m, s), begins); {
	case !came && replied: // it was the last
		return nil
	case !came && begins && !c.order.HasEnded() && p.Waits(c.order): // at the server, before its first turn
		return nil
	case !came:
		return p.sendsNothing(m, c)
	}
	i := min(m.Nth, len(c.held)-1)
	h := c.held[i]
	c.held = slices.Delete(c.held, i, i+1)
	p.noteHeld(h)
	cmd := h.Command()
	if m.Reply {
		cmd.Deliver = make(chan struct{})
	}
	h.GoOn()
	_ = await(ctx, cmd, cmd.Done())
	if m.Reply {
		c.held = slices.Insert(c.held, 0, &Held{Trap: p.seize(m.At, cmd, true), Order: c.order, Name: h.Name, Reply: true,
			Since: time.Now()})
	}
	p.unsettled = p.Settle(ctx, p.AtMost(schedule.Move{Who: m.Who, At: m.At}, s))
	return nil
}

// Unsettled returns an order that was not at rest after the last move, nil if all were.
func (p *Player) Unsettled() *InFlight { return p.unsettled }

// LateOf returns the number of commands of a client's order that are in flight.
func (p *Player) LateOf(who int) int { return len(p.clients[who].late) }

// HeldOf returns what is held of a client's order: commands that wait for their turns, or one reply.
func (p *Player) HeldOf(who int) []*Held { return p.clients[who].held }

// awaitTurn delivers the reply for which an order waits, waits until a command of its waits for its turn, and reports
// whether one does. An order that begins may block at the server before it sends one.
func (p *Player) awaitTurn(ctx context.Context, c *client, atMost time.Duration, begins bool) bool {
	if len(c.held) > 0 && c.held[0].Reply {
		p.noteHeld(c.held[0])
		c.held[0].GoOn()
		c.held = nil
	}
	for begun := time.Now(); ; {
		p.HoldTurns()
		switch {
		case len(c.held) > 0:
			return true
		case ctx.Err() != nil, time.Since(begun) > atMost:
			return false
		case c.order.HasEnded() && p.Settle(ctx, atMost) == nil: // it may send more after its answer
			p.HoldTurns()
			return len(c.held) > 0
		case begins && p.Waits(c.order) && p.Settle(ctx, atMost) == nil && len(c.held) == 0 && p.Waits(c.order):
			return false
		}
		p.pause(ctx)
	}
}

// pause waits until something may have come.
func (p *Player) pause(ctx context.Context) {
	select {
	case <-time.After(quietGap / 2):
	case <-ctx.Done():
	}
}

// HoldTurns holds each order before the commands that wait for their turns.
func (p *Player) HoldTurns() {
	for i := range p.clients {
		c := &p.clients[i]
		if c.order == nil || !p.TakesTurns(c.order.At) || len(c.held) > 0 && c.held[0].Reply {
			continue
		}
		var turns []*Held
		for _, cmd := range p.waiting(c.order.At) {
			n := slices.IndexFunc(c.held, func(h *Held) bool { return h.Command() == cmd })
			if n >= 0 {
				turns = append(turns, c.held[n])
				continue
			}
			m := schedule.Move{Who: i, At: c.order.At, Mark: schedule.Next}
			h := &Held{Trap: p.seize(m.At, cmd, false), Order: c.order, Since: cmd.Came}
			h.Name, h.Reply = p.Name(m, h.Trap)
			turns = append(turns, h)
		}
		for _, h := range c.held {
			if !slices.Contains(turns, h) { // its client has closed the connection
				h.GoOn()
			}
		}
		c.held = turns
	}
}

// Settle waits until all orders are at rest, and holds what waits for its turn. It returns nil, or an order that is not
// at rest by then. An order is at rest if it is held, or is over, or waits for the lock, and nothing has come for a
// moment while all threads of the instances slept and nothing was on its way. If the threads are unknown, the moment is
// longer.
func (p *Player) Settle(ctx context.Context, atMost time.Duration) *InFlight {
	begun, since, happened := time.Now(), time.Now(), -1
	for {
		if now := p.Gate.Happened(); now != happened {
			happened, since = now, time.Now()
		}
		p.HoldTurns()
		busy, quiet := p.busy(), time.Since(since)
		enough := busy == nil && p.isEnough(quiet)
		if enough && p.Gate.Happened() == happened || ctx.Err() != nil { // what has come meanwhile is to be held
			return nil
		}
		if time.Since(begun) > atMost {
			return busy
		}
		p.pause(ctx)
	}
}

// busy returns an order that is not known to be at rest, nil if there is none.
func (p *Player) busy() *InFlight {
	for i := range p.clients {
		c := &p.clients[i]
		o := c.order
		if o == nil || p.Turns == nil || len(c.held) > 0 || p.Ends[o.At].Dead || !p.Works(o.At) {
			continue
		}
		if ended := o.HasEnded(); ended && p.IsDue(o) || !ended && !p.Waits(o) {
			return o
		}
	}
	return nil
}

// isEnough reports whether the instances are at rest after so long a silence.
func (p *Player) isEnough(quiet time.Duration) bool {
	if quiet <= restGap {
		return false
	}
	moving := p.isMoving() // asked again below: what arrives wakes a thread
	asleep, known := p.asleep()
	return asleep && known && !moving && !p.isMoving() || quiet > longest || !known && quiet > silence
}

// asleep reports whether all threads of the running instances sleep, and whether that is known.
func (p *Player) asleep() (asleep, known bool) {
	var pids []int
	for at, e := range p.Ends {
		if !e.Dead && p.stopped[at].IsZero() {
			pids = append(pids, e.family()...)
		}
	}
	asleep, known = allSleep(pids)
	return asleep, known && len(pids) > 0
}

// isMoving reports whether anything is on its way between the instances and their servers that does not wait.
func (r *Rig) isMoving() bool {
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	for _, e := range r.Ends {
		if slices.ContainsFunc(e.Wires, (*wire.Wire).IsBusy) {
			return true
		}
		if e.isStep != nil && slices.ContainsFunc(r.Gate.Of(&e.Client), r.passes) {
			return true
		}
	}
	return false
}

// passes reports whether a command at the gate is neither a step nor held. The caller holds trapsMu.
func (r *Rig) passes(cmd *wire.Command) bool {
	isHeld := func(t *CommandTrap) bool { return t.cmd == cmd }
	return !r.Ends[cmd.Client.Index].isStep(cmd) && !slices.ContainsFunc(r.traps, isHeld)
}

// family returns the processes of an instance, as they were when it was first asked.
func (e *End) family() []int {
	if e.pids == nil && e.In != nil {
		e.pids = e.In.Family()
	}
	return e.pids
}
