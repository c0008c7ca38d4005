package trial

import (
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// step carries out the next command of a customer's order, and holds the one after it. A customer who was refused
// orders again. An order that sends nothing more for a moment sleeps, works, or blocks at the server: its next command
// is held when it comes.
func (p *player) step(m schedule.Move, c *customer) {
	if len(c.holds) == 0 && c.next == nil {
		c.next = p.set(&trap{at: m.At, does: schedule.Pass, is: p.isNext()})
	}
	if c.order == nil || c.HasEnded() && !p.hasSold(c.order) {
		c.orders++
		c.order = p.bench.send(nth(nameOf(m.Who), c.orders), m.At)
	}
	if len(c.holds) == 0 && !p.awaitNext(m, c) {
		return
	}
	now := c.holds[len(c.holds)-1].cmd
	next := p.set(&trap{at: m.At, does: schedule.Pass, is: p.isNext()})
	p.letGo(c)
	c.next = next
	if now != nil {
		<-now.Done()
	}
	c.catches(p, p.passport.moment())
}

// awaitNext waits for the next command of an order that has sent none for a moment, and reports whether it is held.
func (p *player) awaitNext(m schedule.Move, c *customer) bool {
	if c.next != nil && c.catches(p, p.passport.deadline(m, p.scene(m.Who))) {
		return true
	}
	p.why = people[m.Who] + " sent no further command" + either(c.order != nil && c.HasEnded(), ": the order is over", "")
	p.letGo(c)
	return false
}

// catches waits until the next command of an order is held, and reports whether it is.
func (c *customer) catches(p *player, atMost time.Duration) bool {
	if !c.next.springs(c.order, atMost) {
		return false
	}
	c.holds = append(c.holds, &hold{trap: c.next, name: p.nameOfStep(c.next.cmd), since: time.Now()})
	c.next = nil
	return true
}

// nameOfStep returns what a fault calls a command.
func (p *player) nameOfStep(cmd *wire.Command) string {
	switch shape := p.shape(&cmd.Seen); {
	case p.passport.writes[shape]:
		return schedule.Write
	case p.passport.acquires[shape]:
		return schedule.Acquire
	case p.passport.releases[shape]:
		return schedule.Release
	}
	return strings.ToUpper(cmd.Name)
}

// setup are commands by which a client prepares its connection, or its scripts.
var setup = []string{"hello", "auth", "select", "client", "ping", "script", "command", "function", "info", "echo",
	"quit"}

// isNext returns a match for the commands of an order that are its steps. The others pass: those without a key, what
// the shop sends in the background, renewals, the second try of a script that the server did not know, and what may
// block at the server. A message to a waiter is a step.
func (p *player) isNext() func(*wire.Command) bool {
	return func(cmd *wire.Command) bool {
		shape := p.shape(&cmd.Seen)
		switch {
		case cmd.Message:
			return true
		case cmd.On() == "" && len(cmd.Queued) == 0, slices.Contains(setup, cmd.Name), p.passport.background[shape],
			p.passport.renewals[shape] && !p.passport.acquires[shape], p.looker.Load().Blocks(cmd.Args):
			return false
		}
		return !p.isResent(cmd)
	}
}

// isResent reports whether a command is a script in full, since the server did not know its digest.
func (p *player) isResent(cmd *wire.Command) bool {
	if len(cmd.Args) < 2 || !strings.EqualFold(cmd.Args[0], "eval") {
		return false
	}
	resent := false
	p.Gate.Each(func(before *wire.Command) {
		if before.Client == cmd.Client && before.Failed && strings.HasPrefix(before.Reply, "NOSCRIPT") &&
			digest(before.Args) == digest(cmd.Args) {
			resent = true
		}
	})
	return resent
}
