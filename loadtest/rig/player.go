package rig

import (
	"context"
	"errors"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A Player plays the steps of a trace, or the moves of a line, one by one. In a trace all commands wait at a closed
// gate, and a step names the next one; in a line those pass that no trap catches: see [Rig.LetThrough].
type Player struct {
	*Rig
	User
	Marks        // nil if only traces are played
	Turns        // nil if no line has letters
	clients      [3]client
	first        int                   // the number of the client that ordered first, plus 1; 0: none did
	passed       time.Time             // when time last passed for held orders
	stopped, cut [2]time.Time          // by instance: since when it is stopped, or cut off; zero: it is not
	parted       [2]time.Time          // by instance: when it was last cut off
	unsettled    *InFlight             // an order that was not at rest after the last move; nil: all were
	unheard      *CommandTrap          // loses the messages to an instance
	reply        map[int]chan struct{} // by client: closed when its caller has gone: see giveUp
}

// A User sends the orders of a player, makes time pass, and records its faults: replay, a trial, or the stage.
type User interface {
	// Send sends an order of a client to an instance, unless its last one has sold. If other orders are in flight, and the
	// move leads to a mark, it may send another one whenever one is refused, until the mark is reached or the time of the
	// move is over. It returns the last one.
	Send(ctx context.Context, m schedule.Move, s Scene, reached <-chan struct{}) *InFlight
	// Pass lets time pass, ends leases, or does what else concerns all orders, as the verb of a move says.
	Pass(ctx context.Context, m schedule.Move) error
	// Note records a fault of an order, which lasted from since until now. Order is nil if it hit an instance: then it is
	// that of the instance's order.
	Note(at int, order *InFlight, f history.Fault, since time.Time)
}

// Marks tells a player of lines what their marks mean for a service, and how long each move may take.
type Marks interface {
	// Catch sets a trap for what the mark of a move names. It returns nil if there is no such thing.
	Catch(m schedule.Move, s Scene) Trap
	// Name returns what a fault calls what a move has caught, or would have, and whether it is the reply to that.
	Name(m schedule.Move, t Trap) (name string, reply bool)
	// AtMost returns how long a move may take.
	AtMost(m schedule.Move, s Scene) time.Duration
	// Sell sends orders of a client until one sells, or the time of the move is over, and returns the last one.
	Sell(ctx context.Context, m schedule.Move, s Scene) *InFlight
	// Rest waits until an instance is at rest after the end of an order.
	Rest(ctx context.Context, order *InFlight)
	// Stuck returns why a move could not be taken, nil if it was. The trap is nil if none was set.
	Stuck(m schedule.Move, s Scene, t Trap) error
}

// Turns tells a player of lines with letters what the steps of an order are.
type Turns interface {
	// IsStep reports whether a command is a step of an order that goes step by step.
	IsStep(cmd *wire.Command) bool
	// Waits reports whether an order waits for the lock: its try was refused, or blocks at the server.
	Waits(order *InFlight) bool
	// IsDue reports whether an order that has ended is due to send a command, from a timer of its instance.
	IsDue(order *InFlight) bool
}

// A client is one of a player's.
type client struct {
	order *InFlight // its last one; nil: none yet
	held  []*Held   // of that order
	late  []*Held   // its commands in flight
	came  time.Time // when the first of several orders was sent; zero: none was
}

// A Held is a point at which an order is held.
type Held struct {
	Trap
	Order *InFlight
	Name  string // of what is held
	Reply bool   // it is the reply to that
	Since time.Time
}

// Command returns the held command, nil if it is a request to a database.
func (h *Held) Command() *wire.Command {
	if t, is := h.Trap.(*CommandTrap); is {
		return t.Command()
	}
	return nil
}

// A Scene is the state of the other clients, and of a client's own order, at its move.
type Scene struct {
	Order *InFlight     // its last order; nil: none yet
	Bound bool          // that is held
	First bool          // no other client ordered before
	Open  bool          // an order of another client is in flight
	Held  []*Held       // of other clients
	Late  int           // the number of commands in flight, of all clients
	Came  time.Duration // since the first of its several orders was sent; 0: none was
}

// Scene returns the scene of a client; -1 is none of them.
func (p *Player) Scene(who int) Scene {
	s := Scene{First: p.first == 0 || p.first == who+1}
	for i := range p.clients {
		c := &p.clients[i]
		s.Late += len(c.late)
		if i != who {
			s.Open = s.Open || c.order != nil && c.order.IsUnderWay()
			s.Held = append(s.Held, c.held...)
			continue
		}
		if s.Order, s.Bound = c.order, len(c.held) > 0; !c.came.IsZero() {
			s.Came = time.Since(c.came)
		}
	}
	return s
}

// Orders returns the last order of each client that has ordered.
func (p *Player) Orders() (all []*InFlight) {
	for i := range p.clients {
		if o := p.clients[i].order; o != nil {
			all = append(all, o)
		}
	}
	return all
}

// Works reports whether an instance is neither stopped nor cut off.
func (p *Player) Works(at int) bool { return p.stopped[at].IsZero() && p.cut[at].IsZero() }

// Move takes a move of a line.
func (p *Player) Move(ctx context.Context, m schedule.Move) error {
	if m.Who < 0 {
		return p.rested(ctx, m, p.toAll(ctx, m))
	}
	c := &p.clients[m.Who]
	if c.order != nil && m.Verb == "" {
		m.At = c.order.At
	}
	switch {
	case m.Verb != "":
		return p.rested(ctx, m, p.do(ctx, m, c))
	case m.Mark == "":
		return p.poll(ctx, m, c)
	case m.Mark == schedule.Next:
		return p.step(ctx, m, c)
	case m.Mark == schedule.End:
		p.end(ctx, m, c)
		return nil
	case m.Mark == schedule.Waits:
		return p.waits(ctx, m, c)
	case m.Mark == schedule.Renewal:
		p.Sleep(ctx, p.AtMost(m, p.Scene(m.Who)))
		return nil
	}
	return p.goTo(ctx, m, c)
}

// rested waits until all orders are at rest after a move if any goes step by step. It returns err.
func (p *Player) rested(ctx context.Context, m schedule.Move, err error) error {
	for at, e := range p.Ends {
		if err == nil && !e.Dead && p.TakesTurns(at) {
			p.unsettled = p.Settle(ctx, p.AtMost(schedule.Move{Who: max(0, m.Who), At: at}, p.Scene(m.Who)))
			break
		}
	}
	return err
}

// Sleep lets time pass for held orders.
func (p *Player) Sleep(ctx context.Context, d time.Duration) {
	p.passed = time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Finish ends a line: it passes on all that it holds. The error is of a move that turns out to be without effect.
func (p *Player) Finish() error {
	for i := range p.clients {
		p.letGo(&p.clients[i])
	}
	t := p.unheard
	if t == nil {
		return nil
	}
	if HasCaught(t) {
		p.Note(t.At, nil, MessageFault(), t.Command().Came)
	}
	return p.Stuck(schedule.Move{Verb: "drop", Who: t.At, At: t.At}, p.Scene(t.At), t)
}

// send sends an order of a client.
func (p *Player) send(ctx context.Context, m schedule.Move, s Scene, reached <-chan struct{}) {
	if p.first == 0 {
		p.first = m.Who + 1
	}
	p.clients[m.Who].order = p.Send(ctx, m, s, reached)
}

// goTo runs an order until it is held at a mark. It sends the order if there is none yet.
func (p *Player) goTo(ctx context.Context, m schedule.Move, c *client) error {
	s := p.Scene(m.Who)
	t := p.Catch(m, s)
	if t == nil {
		return p.Stuck(m, s, nil)
	}
	if p.letGo(c); c.order == nil {
		p.send(ctx, m, s, t.Caught())
	}
	Catches(t, c.order, p.AtMost(m, s)) // less by now, if it is what the client of a held order still waits
	if err := p.Stuck(m, s, t); err != nil {
		t.GoOn()
		return err
	}
	p.hold(m, c, t)
	return nil
}

// hold records that an order is held.
func (p *Player) hold(m schedule.Move, c *client, t Trap) {
	h := &Held{Trap: t, Order: c.order, Since: time.Now()}
	h.Name, h.Reply = p.Name(m, t)
	c.held = append(c.held, h)
}

// afterAnswer bounds the time after its answer in which an order may still send commands.
const afterAnswer = 400 * time.Millisecond

// Catches waits until a trap has caught something, an order is over, or the time is. It reports whether the trap has.
func Catches(t Trap, o *InFlight, atMost time.Duration) bool {
	select {
	case <-t.Caught():
	case <-o.Done():
		select {
		case <-t.Caught():
		case <-time.After(afterAnswer): // absence is asked
		}
	case <-time.After(atMost):
	}
	return HasCaught(t)
}

// end runs an order until it is answered, or for as long as the move may take. It sends the order if there is none and,
// except for the first client, new ones until one sells.
func (p *Player) end(ctx context.Context, m schedule.Move, c *client) {
	s := p.Scene(m.Who)
	p.letGo(c)
	p.passed = time.Now()
	switch {
	case c.order == nil && s.First:
		p.send(ctx, m, s, nil)
	case c.order == nil && s.Open, !c.came.IsZero() && !s.Bound && len(s.Held) > 0:
		if c.came.IsZero() {
			c.came = time.Now()
		}
		c.order = p.Sell(ctx, m, p.Scene(m.Who))
		return
	case c.order == nil:
		c.order = p.Sell(ctx, m, s)
		return
	}
	c.order.WaitFor(p.AtMost(m, s))
	p.Rest(ctx, c.order)
}

// waits runs an order that should not be answered at once.
func (p *Player) waits(ctx context.Context, m schedule.Move, c *client) error {
	s := p.Scene(m.Who)
	if p.letGo(c); c.order == nil {
		p.send(ctx, m, s, nil)
	}
	c.order.WaitFor(p.AtMost(m, s))
	return p.Stuck(m, p.Scene(m.Who), nil)
}

// poll sends a new order, and waits for a moment, unless another one is at work at its instance.
func (p *Player) poll(ctx context.Context, m schedule.Move, c *client) error {
	for i := range p.clients {
		if o := &p.clients[i]; o.order != nil && o.order.At == m.At && !o.order.HasEnded() && len(o.held) == 0 {
			return nil
		}
	}
	s := p.Scene(m.Who)
	p.send(ctx, m, s, nil)
	c.order.WaitFor(p.AtMost(m, s))
	return p.Stuck(m, p.Scene(m.Who), nil)
}

// sendsNothing ends the steps of an order that sends no further command, and returns why a move could not be taken.
func (p *Player) sendsNothing(m schedule.Move, c *client) error {
	err := p.Stuck(m, p.Scene(m.Who), nil)
	p.letGo(c)
	return err
}

// letGo resumes a held order, which no longer goes step by step.
func (p *Player) letGo(c *client) {
	if c.order != nil && p.TakesTurns(c.order.At) {
		p.TakeTurns(c.order.At, nil)
	}
	p.goOnAll(c)
}

// goOnAll passes on what is held of an order.
func (p *Player) goOnAll(c *client) {
	for _, h := range c.held {
		p.noteHeld(h)
		h.GoOn()
	}
	c.held = nil
}

// noteHeld records a hold during which time has passed as a fault.
func (p *Player) noteHeld(h *Held) {
	if h.Since.Before(p.passed) {
		p.Note(h.Order.At, h.Order, HeldFault(h.Name, h.Reply, time.Since(h.Since)), h.Since)
	}
}

// do takes a move that is a verb of an order or an instance.
func (p *Player) do(ctx context.Context, m schedule.Move, c *client) error {
	switch m.Verb {
	case "give-up":
		p.Note(c.order.At, c.order, HangUpFault(c.doing()), time.Now())
		c.order.HangUp()
		if !p.TakesTurns(c.order.At) {
			p.Quiet(ctx) // it must notice before it gets the reply
		}
		return nil
	case "lose-request", "lose-reply", "late":
		return p.toHeld(ctx, m, c)
	case "arrive":
		p.arrive(ctx, c)
		return nil
	}
	return p.toInstance(ctx, m)
}

// doing returns what an order does while it is held, or not.
func (c *client) doing() string {
	if len(c.held) > 0 {
		return "worked"
	}
	return "waited"
}

// toHeld loses the command at which an order is held, or the reply to it, or puts it in flight.
func (p *Player) toHeld(ctx context.Context, m schedule.Move, c *client) error {
	s := p.Scene(m.Who)
	if c.order == nil {
		p.TakeTurns(m.At, p.IsStep)
		p.send(ctx, m, s, nil)
	}
	if len(c.held) == 0 && !p.awaitTurn(ctx, c, p.AtMost(m, s), false) {
		return p.sendsNothing(m, c)
	}
	i := min(m.Nth, len(c.held)-1)
	h := c.held[i]
	cmd, now := h.Command(), time.Now()
	if cmd == nil && m.Verb != "lose-request" {
		return errors.New("only a command can be late, or lose its reply: a request to the database cannot")
	}
	c.held = slices.Delete(c.held, i, i+1)
	switch { // the client may have given up the command just before, which the record shows
	case m.Verb == "late":
		h.Since, c.late = now, append(c.late, h)
		if _ = p.Take(ctx, schedule.Late, cmd); p.TakesTurns(h.Order.At) { // its client does not wait for its own timeout
			p.Ends[h.Order.At].Wires[0].BreakClients()
			p.parted[h.Order.At] = time.Now()
		}
	case m.Verb == "lose-reply":
		p.Note(h.Order.At, h.Order, LostFault(h.Name, true), now)
		_ = p.Take(ctx, schedule.LoseReply, cmd)
		h.GoOn()
	case cmd != nil && cmd.Message:
		p.Note(h.Order.At, h.Order, MessageFault(), now)
		_ = p.Take(ctx, schedule.Drop, cmd)
		h.GoOn()
	default:
		p.Note(h.Order.At, h.Order, LostFault(h.Name, false), now)
		h.Lose()
	}
	return nil
}

// arrive has the last command in flight of an order arrive. Its caller is no longer waiting.
func (p *Player) arrive(ctx context.Context, c *client) {
	i := len(c.late) - 1
	h := c.late[i]
	c.late = c.late[:i]
	at := h.Order.At
	p.Note(at, h.Order, LateFault(h.Name, time.Since(h.Since)), h.Since)
	_ = p.Take(ctx, schedule.Arrive, h.Command())
	if h.GoOn(); !p.parted[at].After(h.Since) { // its caller has lost the connection
		p.Ends[at].Wires[0].Break()
	}
}

// toAll takes a move that concerns all orders.
func (p *Player) toAll(ctx context.Context, m schedule.Move) error {
	if m.Verb == "time" {
		p.Sleep(ctx, p.AtMost(m, p.Scene(-1)))
		return nil
	}
	if m.Verb == "expiry" {
		p.passed = time.Now()
	}
	return p.Pass(ctx, m)
}

// toInstance takes a move that concerns an instance.
func (p *Player) toInstance(ctx context.Context, m schedule.Move) error {
	at, now := m.At, time.Now()
	e := p.Ends[at]
	switch m.Verb {
	case "stop":
		p.stopped[at] = now
		return e.In.Stop()
	case "continue":
		return p.goOn(ctx, at)
	case "crash":
		p.Note(at, nil, KillFault(""), now)
		return p.crash(at)
	case "cut":
		p.cut[at], p.parted[at] = now, now
		p.CutOff(e)
	case "join":
		p.Note(at, nil, PartitionFault(time.Since(p.cut[at])), p.cut[at])
		p.cut[at] = time.Time{}
		p.Rejoin(e)
	case "drop":
		p.unheard = p.SetTrap(&CommandTrap{At: at, Does: schedule.Refuse, Always: true,
			Is: func(cmd *wire.Command) bool { return cmd.Message }})
	}
	return nil
}

// crash kills an instance, and waits until its orders have ended.
func (p *Player) crash(at int) error {
	if err := p.Kill(p.Ends[at]); err != nil {
		return err
	}
	for i := range p.clients {
		c := &p.clients[i]
		if c.order == nil || c.order.At != at {
			continue
		}
		for _, h := range c.held { // nothing is left to hold
			h.GoOn()
		}
		c.held = nil
		<-c.order.Done()
	}
	return nil
}

// unstoppable bounds the time after its stop in which commands of an instance may arrive that it had sent before.
const unstoppable = 500 * time.Millisecond

// hasSent reports whether an instance has sent a command after a time.
func (p *Player) hasSent(at int, since time.Time) (sent bool) {
	p.Gate.Each(func(cmd *wire.Command) {
		sent = sent || cmd.Client == &p.Ends[at].Client && !cmd.Message && !cmd.Sent.IsZero() && cmd.Came.After(since)
	})
	return sent
}

// goOn resumes a stopped instance. What it waits for is delivered first, so that no client times out on that.
func (p *Player) goOn(ctx context.Context, at int) error {
	since := p.stopped[at]
	if p.hasSent(at, since.Add(unstoppable)) {
		return errors.New("the shop kept running while it was stopped: start it in the foreground")
	}
	p.Note(at, nil, StopFault(time.Since(since), "", 0), since)
	for i := range p.clients {
		c := &p.clients[i]
		if c.order == nil || c.order.At != at {
			continue
		}
		if p.TakesTurns(at) && (len(c.held) == 0 || !c.held[0].Reply) {
			continue // what waits for its turn arrives later
		}
		held := c.held
		p.goOnAll(c)
		for _, h := range held {
			if cmd := h.Command(); cmd != nil {
				_ = await(ctx, cmd, cmd.Heard())
			}
		}
	}
	p.stopped[at] = time.Time{}
	return p.Ends[at].In.Continue()
}
