package rig

import (
	"context"
	"slices"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A CommandTrap catches a command of an instance, or the reply to one. It may lose or refuse it instead.
type CommandTrap struct {
	At     int                      // the number of the instance
	Is     func(*wire.Command) bool // matches a command on arrival
	Reply  bool                     // hold the reply
	Did    func(*wire.Command) bool // for held replies: matches a command that was carried out; nil: any
	Does   schedule.Decision        // what happens to the command; zero: it, or its reply, is held
	Answer string                   // the error that refuses a command; "": its connection breaks
	Always bool                     // it catches every such command, not just the first

	of     *Rig
	caught chan struct{}
	cmd    *wire.Command // the first one caught
}

// holds is the zero decision: a trap fails no command.
const holds = schedule.Fail

// SetTrap sets a trap. It catches no command that has already arrived.
func (r *Rig) SetTrap(t *CommandTrap) *CommandTrap {
	t.of, t.caught = r, make(chan struct{})
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	r.traps = append(r.traps, t)
	return t
}

// Caught implements [Trap].
func (t *CommandTrap) Caught() <-chan struct{} { return t.caught }

// Command returns the first command that was caught.
func (t *CommandTrap) Command() *wire.Command { return t.cmd }

// GoOn implements [Trap]. A command in flight arrives.
func (t *CommandTrap) GoOn() { t.end(schedule.Pass) }

// Lose implements [Trap].
func (t *CommandTrap) Lose() { t.end(schedule.LostRequest) }

// end removes a trap, and decides about what it has caught. It does both at once, or another trap could catch that.
func (t *CommandTrap) end(d schedule.Decision) {
	r := t.of
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	i := slices.Index(r.traps, t)
	if i < 0 {
		return
	}
	r.traps = slices.Delete(r.traps, i, i+1)
	switch {
	case t.cmd == nil:
	case t.Reply:
		if d != schedule.Pass {
			r.Ends[t.At].Wires[t.cmd.Server.Index].Break()
		}
		close(t.cmd.Deliver)
	case t.cmd.Arrive != nil && !wire.IsClosed(t.cmd.Arrive):
		close(t.cmd.Arrive)
	default:
		r.Gate.Decide(t.cmd, d)
	}
}

// GoOnAll removes all traps for commands, and passes on what they hold.
func (r *Rig) GoOnAll() {
	r.trapsMu.Lock()
	traps := slices.Clone(r.traps)
	r.trapsMu.Unlock()
	for _, t := range traps {
		t.GoOn()
	}
}

// LetThrough passes the commands that no trap catches, until the context ends. Behind, unless nil, reports whether a
// command stays behind a late one that its client sent before it on the same connection.
func (r *Rig) LetThrough(ctx context.Context, behind func(*wire.Command) bool) {
	for {
		select {
		case <-r.Gate.Arrived:
		case <-ctx.Done():
			return
		}
		for _, e := range r.Ends {
			for _, cmd := range r.Gate.Of(&e.Client) {
				r.letThrough(cmd, behind)
			}
		}
	}
}

func (r *Rig) letThrough(cmd *wire.Command, behind func(*wire.Command) bool) {
	r.trapsMu.Lock()
	defer r.trapsMu.Unlock()
	if slices.ContainsFunc(r.traps, func(t *CommandTrap) bool { return t.cmd == cmd }) {
		return // held
	}
	if late := r.lateBefore(cmd); late != nil && behind != nil && behind(cmd) {
		cmd.Arrive = make(chan struct{})
		r.Gate.Decide(cmd, schedule.ComesLate)
		go func() {
			<-late.Done()
			close(cmd.Arrive)
		}()
		return
	}
	i := slices.IndexFunc(r.traps, func(t *CommandTrap) bool {
		return t.At == cmd.Client.Index && (t.cmd == nil || t.Always) && t.Is(cmd)
	})
	if i < 0 {
		if isStep := r.Ends[cmd.Client.Index].isStep; isStep == nil || !isStep(cmd) {
			r.Gate.Decide(cmd, schedule.Pass)
		}
		return
	}
	t := r.traps[i]
	switch {
	case t.Reply:
		cmd.Deliver = make(chan struct{})
		r.Gate.Decide(cmd, schedule.Pass)
		go t.holdReply(cmd)
		return
	case t.Does != holds:
		cmd.Error = t.Answer
		r.Gate.Decide(cmd, t.Does)
	}
	t.spring(cmd)
}

// lateBefore returns a command in flight that precedes another one on its connection, nil if there is none.
func (r *Rig) lateBefore(cmd *wire.Command) *wire.Command {
	late := r.Gate.LateOf(cmd.Client)
	if i := slices.IndexFunc(late, func(one *wire.Command) bool { return one.Conn == cmd.Conn }); i >= 0 {
		return late[i]
	}
	return nil
}

// spring records what a trap has caught. The caller holds trapsMu.
func (t *CommandTrap) spring(cmd *wire.Command) {
	if t.cmd == nil {
		t.cmd = cmd
		close(t.caught)
	}
}

// holdReply holds the reply to a caught command, if that did what the trap waits for.
func (t *CommandTrap) holdReply(cmd *wire.Command) {
	<-cmd.Done()
	caught := t.Did == nil || t.Did(cmd)
	t.of.trapsMu.Lock()
	defer t.of.trapsMu.Unlock()
	if caught && t.cmd == nil && slices.Contains(t.of.traps, t) {
		t.spring(cmd)
		return
	}
	close(cmd.Deliver)
}
