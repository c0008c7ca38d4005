package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A player plays a line on a bench. docs/explore.md has the notation.
type player struct {
	*bench
	customers [3]customer
	stopped   [2]time.Time // when an instance was stopped; zero: it runs
	cut       [2]time.Time // when it was cut off; zero: it is not
	taken     span         // when the trial itself took the lock; zero: it has not
	letLocks  func()       // ends the renewals of that lock
	expired   bool         // a lease has passed
	held      bool         // the last recorded fault is a held command
	unheard   *trap        // for messages to an instance
	why       string       // why a fault did not happen; "" if all did
}

// people holds the names of the customers, in the order of the letters of a line.
var people = [...]string{"Anna", "Bert", "Clara"}

// A customer is one of people.
type customer struct {
	*order // the last one; nil: none yet
	holds  []*hold
	came   time.Time // when the first of several orders was sent; zero: none was
	next   *trap     // that will hold the next command of an order that goes step by step; nil: none
	orders int       // that were sent step by step
}

// A hold is a point where a line holds an order.
type hold struct {
	*trap
	name  string // of the command
	since time.Time
	late  bool // the command is in flight
	apart bool // its client has lost the connection
	over  bool // the lock that it was held under may be lost
	fault bool // a later step makes it a fault
	// atDatabase holds a request to the database, or its reply; nil if a command is held.
	atDatabase *rig.Trap
}

// playLine returns the function that plays a line. It returns why the fault did not happen, "" if it did.
func playLine(line schedule.Line) func(*bench) string {
	if n := line.Crowd(); n > 0 {
		return crowdAt(n)
	}
	return func(b *bench) string {
		p := &player{bench: b}
		for _, m := range line {
			since := time.Now()
			p.take(m)
			if m.Verb == "" {
				p.block(m.Who, since)
			}
			if p.why != "" {
				break
			}
		}
		p.finish()
		return p.why
	}
}

// take takes a step.
func (p *player) take(m schedule.Move) {
	c := &p.customers[max(0, m.Who)]
	if c.order != nil && m.Verb == "" {
		m.At = c.At
	}
	switch m = p.atWork(m); {
	case m.Verb != "":
		p.do(m, c)
	case m.Mark == "":
		p.tryForAMoment(m, c)
	case m.Mark == schedule.Next:
		p.step(m, c)
	case m.Mark == schedule.End:
		p.end(m, c)
	case m.Mark == schedule.Waits:
		p.waits(m, c)
	case m.Request() > 0:
		p.goToRequest(m, c)
	case m.Mark == schedule.Renewal:
		p.pass(p.passport.deadline(m, scene{}))
	default:
		p.goTo(m, c)
	}
}

// send sends a customer's order.
func (p *player) send(m schedule.Move, c *customer) { c.order = p.bench.send(nameOf(m.Who), m.At) }

func nameOf(who int) string { return strings.ToLower(people[who]) }

// isFirst reports whether a customer is the first to order in the line.
func (p *player) isFirst(who int) bool { return len(p.orders) == 0 || p.orders[0].name == nameOf(who) }

// goTo runs an order until it reaches a mark. It sends the order if there is none yet, and a new one if it is refused
// while another customer's is in flight.
func (p *player) goTo(m schedule.Move, c *customer) {
	s := p.scene(m.Who)
	atMost := p.passport.deadline(m, s)
	t, name := p.trapAt(m)
	p.set(t)
	p.letGo(c)
	switch {
	case c.order == nil && s.open:
		c.order = p.bertUntil(nameOf(m.Who), m.At, atMost, t.sprung)
	case c.order == nil:
		p.send(m, c)
	}
	if t.springs(c.order, atMost) {
		h := &hold{trap: t, name: name, since: time.Now()}
		if m.Mark == schedule.Read && p.Ends[m.At].Database != nil && !p.toWork(c, h) {
			return
		}
		c.holds = append(c.holds, h)
		return
	}
	p.unset(t)
	switch who := people[m.Who]; {
	case !s.open:
		p.why = "the order ended without sending the command at which the fault was due"
	case m.Mark == schedule.Read && !s.under:
		why := p.passport.whyKept(m.At == p.holder())
		p.why = fmt.Sprintf("%s did not acquire the lock while another order was held: %s", who, why)
	default:
		p.why = fmt.Sprintf("%s did not reach the %s while another order was held", who, name)
	}
}

// toWork moves a hold from the reply to an acquire to the next request to the database, and reports whether there was
// one. Plain sales have no fixed pattern, or the mark would be a request: see atWork.
func (p *player) toWork(c *customer, h *hold) bool {
	t, held := p.toDatabase(c.order, h.trap)
	if !held {
		p.why = noRequest
		return false
	}
	h.trap, h.atDatabase, h.since = &trap{at: h.at}, t, time.Now()
	h.name = fmt.Sprintf("request %d to the database", t.Number())
	return true
}

// springs reports whether a trap catches a command before an order is over, or within atMost. Commands right after the
// answer are the order's, too.
func (t *trap) springs(o *order, atMost time.Duration) bool {
	select {
	case <-t.sprung:
	case <-o.Done():
		select {
		case <-t.sprung:
		case <-time.After(aMoment):
		}
	case <-time.After(atMost):
	}
	return isClosed(t.sprung)
}

// trapAt returns the trap at a mark, and the name of what it catches.
func (p *player) trapAt(m schedule.Move) (t *trap, name string) {
	of := p.passport
	t = &trap{}
	switch name = m.Mark; m.Mark {
	case schedule.Acquire, schedule.Acquired:
		name = schedule.Acquire
		t.is = p.hasShape(of.acquires)
		if m.Mark == schedule.Acquire && p.isUnder(m.Who) { // an order that looks first sends no acquire then
			t.is = p.hasShape(of.acquires, of.tries)
		}
		if m.Mark == schedule.Acquired {
			t.did = func(effects []history.Command) bool { return anyOf(effects, acquired) }
		}
	case schedule.Read:
		t = p.replyOf(m.At, of.beforeWrite())
		if c := p.customers[m.Who]; len(c.holds) > 0 {
			t.since = p.since(c.Sent)
		}
	case schedule.Write:
		t.is = p.hasShape(of.writes)
		t.did = func(effects []history.Command) bool { // a script of this shape may only read
			return anyOf(effects, func(c *history.Command) bool { return c.WritesStock() && !c.Refused() })
		}
	case schedule.Release, schedule.Release2:
		number := strings.Count(m.Mark, "2")
		name, t.is = schedule.Release, p.afterWrite(p.isStep(of.afterWrite(), number))
	case schedule.Subscribe:
		t.is = func(cmd *wire.Command) bool { return cmd.Subscribes }
	default:
		k, _ := strconv.Atoi(m.Mark)
		name = "command " + m.Mark
		t.is = p.isStep(of.steps, k-1)
	}
	t.at, t.does, t.reply = m.At, schedule.Pass, m.Reply
	return t, name
}

// hasShape returns a match for commands of these shapes.
func (b *bench) hasShape(of ...shapes) func(*wire.Command) bool {
	return func(cmd *wire.Command) bool {
		shape := b.shape(&cmd.Seen)
		return slices.ContainsFunc(of, func(one shapes) bool { return one[shape] })
	}
}

// afterWrite returns a match for such commands after a write of the stock, or after an acquire if writes are not
// observed.
func (b *bench) afterWrite(is func(*wire.Command) bool) func(*wire.Command) bool {
	works := b.passport.writes
	if b.passport.Elsewhere {
		works = b.passport.acquires
	}
	wrote := false
	return func(cmd *wire.Command) bool {
		if wrote {
			return is(cmd)
		}
		wrote = works[b.shape(&cmd.Seen)]
		return false
	}
}

// end runs an order until it is answered, or for a moment if another one is held under its lock. It sends the order if
// there is none and, except for the first customer of the line, new ones until one sells.
func (p *player) end(m schedule.Move, c *customer) {
	p.each(func(who int, h *hold) { h.fault = h.fault || who != m.Who })
	switch {
	case c.order == nil && p.isFirst(m.Who):
		p.send(m, c)
	case c.order == nil && p.othersOpen(m.Who), !c.came.IsZero() && len(c.holds) == 0 && p.othersHeld(m.Who):
		p.untilSold(m, c)
		return
	case c.order == nil:
		if own, _ := p.sellAt(m.At, nameOf(m.Who), history.Buy, p.lastEnd()); len(own) > 0 {
			c.order = own[len(own)-1]
		}
		return
	}
	p.letGo(c)
	if s := p.scene(m.Who); s.under {
		wait(c.order, p.passport.deadline(m, s))
		return
	}
	if <-c.Done(); c.left {
		p.settle(c.order)
	}
}

// untilSold runs a customer's orders until one sells, or the held order cannot be held any longer. All calls together
// take at most a lease and the margin. If the database makes an order wait for the held one, it gives up: a count that
// balances then proves nothing.
func (p *player) untilSold(m schedule.Move, c *customer) {
	s := p.scene(m.Who)
	if s.again = true; c.came.IsZero() {
		c.came = time.Now()
	}
	atMost := p.passport.deadline(m, s)
	late := time.Now().Add(atMost)
	if c.order != nil {
		if wait(c.order, atMost); !c.HasEnded() || p.hasSold(c.order) {
			return
		}
	}
	over := make(chan struct{})
	defer close(over)
	waits := p.waitsForDatabase(m.At, over)
	c.order = p.bertUntil(nameOf(m.Who), m.At, time.Until(late), waits)
	if p.cell.Count != nil && waits != nil && isClosed(waits) && !c.HasEnded() {
		p.cell.Count.Kept = true
	}
}

// waits runs an order that should not be answered at once.
func (p *player) waits(m schedule.Move, c *customer) {
	p.letGo(c)
	if c.order == nil {
		p.send(m, c)
	}
	if wait(c.order, p.passport.deadline(m, scene{})); c.HasEnded() {
		p.why = people[m.Who] + " was answered at once: orders do not wait"
	}
}

// tryForAMoment sends a new order, unless another one is at work at its instance.
func (p *player) tryForAMoment(m schedule.Move, c *customer) {
	for i := range p.customers {
		if o := &p.customers[i]; o.order != nil && o.At == m.At && !o.HasEnded() && len(o.holds) == 0 {
			return
		}
	}
	p.send(m, c)
	wait(c.order, p.passport.deadline(m, scene{}))
}

// do takes a step that is a verb.
func (p *player) do(m schedule.Move, c *customer) {
	var err error
	switch m.Verb {
	case "time", "expiry", "remove", "take", "restart":
		err = p.toAll(m.Verb)
	case "lose-request", "lose-reply", "late", "arrive", "give-up":
		p.toOrder(m, c)
	default:
		err = p.toInstance(m.Verb, m.At)
	}
	if err != nil {
		p.why = err.Error()
	}
}

// toAll takes a step that concerns all orders.
func (p *player) toAll(verb string) error {
	now := time.Now()
	switch verb {
	case "time":
		p.pass(p.passport.deadline(schedule.Move{Verb: verb}, p.scene(-1)))
		return nil
	case "expiry":
		return p.expire()
	case "remove":
		return p.removeLock()
	case "take":
		stop, err := p.keepLocks(p.passport.held)
		p.taken, p.letLocks = span{now, time.Now()}, stop
		return err
	}
	p.noteAt(p.holder(), now, history.FaultRestart, "the Redis restarted")
	p.endLocks()
	p.noteEnds(now, history.LocksLost)
	return p.restart()
}

// toInstance takes a step that concerns an instance.
func (p *player) toInstance(verb string, at int) error {
	now := time.Now()
	switch verb {
	case "stop":
		p.stopped[at] = now
		return p.Ends[at].In.Stop()
	case "continue":
		return p.goOn(at)
	case "crash":
		return p.crash(at)
	case "cut":
		p.cut[at] = now
		p.each(func(_ int, h *hold) { h.apart = h.apart || h.at == at })
		p.CutOff(p.Ends[at])
	case "join":
		p.noteAt(at, p.cut[at], history.FaultCut, "cut off from the Redis for %s", round(time.Since(p.cut[at])))
		p.cut[at] = time.Time{}
		p.Rejoin(p.Ends[at])
	case "drop":
		p.unheard = p.set(&trap{at: at, does: schedule.Refuse, always: true,
			is: func(cmd *wire.Command) bool { return cmd.Message }})
	}
	return nil
}

// toOrder takes a step that concerns an order, or its held command.
func (p *player) toOrder(m schedule.Move, c *customer) {
	verb := m.Verb
	if verb == "give-up" {
		p.note(c.order, time.Now(), "", "hung up while it %s", either(len(c.holds) > 0, "worked", "waited"))
		c.HangUp()
		time.Sleep(200 * time.Millisecond)
		return
	}
	if len(c.holds) == 0 && !p.awaitNext(m, c) {
		return
	}
	i := len(c.holds) - 1
	for i > 0 && c.holds[i].late != (verb == "arrive") {
		i--
	}
	h := c.holds[i]
	switch verb {
	case "late":
		h.late, h.since = true, time.Now()
		h.cmd.Arrive = make(chan struct{})
		p.decideHeld(h, schedule.ComesLate)
		for on := false; !on; time.Sleep(time.Millisecond) { // a server going down may still refuse it
			p.Gate.Change(func() { on = h.cmd.Decision != schedule.Fail })
		}
		return
	case "arrive":
		p.noteOf(c.order, h.since, history.FaultLate, h.name, "its %s in flight for %s", h.name, round(time.Since(h.since)))
		p.land(h.trap)
		if !h.apart {
			p.Ends[c.At].Wires[0].Break() // its caller is no longer waiting
		}
	case "lose-request":
		p.noteOf(c.order, time.Now(), history.FaultLost, h.name, "its %s lost", h.name)
		p.decideHeld(h, schedule.LostRequest)
	case "lose-reply":
		p.noteOf(c.order, time.Now(), history.FaultLost, h.name, "the reply to its %s lost", h.name)
		p.decideHeld(h, schedule.LostReply)
	}
	p.unset(h.trap)
	c.holds = slices.Delete(c.holds, i, i+1)
}

// decideHeld decides a held command.
func (p *player) decideHeld(h *hold, d schedule.Decision) {
	p.trapsMu.Lock()
	defer p.trapsMu.Unlock()
	h.does = d
	p.Gate.Decide(h.cmd, d)
}

// letGo resumes a held order, and records the hold if that was the fault.
func (p *player) letGo(c *customer) {
	if c.next != nil {
		p.unset(c.next)
		c.next = nil
	}
	var late []*hold
	for _, h := range c.holds {
		if h.late {
			late = append(late, h)
			continue
		}
		if h.fault {
			p.noteHold(c.order, h)
		}
		if p.unset(h.trap); h.atDatabase != nil {
			h.atDatabase.Release()
		}
	}
	c.holds = late
}

// noteHold records that an order was held, if there is no other fault so far.
func (p *player) noteHold(o *order, h *hold) {
	text := fmt.Sprintf("%sits %s held for %s", either(h.reply, "the reply to ", ""), h.name, round(time.Since(h.since)))
	switch n := len(p.cell.Faults); {
	case n == 0:
		p.noteOf(o, h.since, history.FaultHeld, h.name, "%s", text)
		p.held = true
	case n == 1 && p.held && p.cell.Faults[0].Order == o.Op.Order:
		first := &p.cell.Faults[0]
		first.Text, first.End = first.Text+", "+text, p.since(time.Now())
	}
}

// each calls do for each hold.
func (p *player) each(do func(who int, h *hold)) {
	for who := range p.customers {
		for _, h := range p.customers[who].holds {
			do(who, h)
		}
	}
}

// isUnder reports whether another order is held under a lock that it must keep.
func (p *player) isUnder(who int) (under bool) {
	p.each(func(of int, h *hold) {
		under = under || of != who && h.isUnder() && !h.over && !p.customers[of].HasEnded()
	})
	return under
}

// othersOpen reports whether another order is in flight.
func (p *player) othersOpen(who int) bool {
	for i := range p.customers {
		if o := p.customers[i].order; o != nil && i != who && !o.HasEnded() {
			return true
		}
	}
	return false
}

// othersHeld reports whether another order is held, and its client waits.
func (p *player) othersHeld(who int) (held bool) {
	p.each(func(of int, h *hold) { held = held || of != who && !h.late })
	return held
}

// scene returns what surrounds a customer's move.
func (p *player) scene(who int) scene {
	s := scene{open: p.othersOpen(who), under: p.isUnder(who), lapsed: p.expired, left: forEver}
	if who >= 0 && !p.customers[who].came.IsZero() {
		s.came = time.Since(p.customers[who].came)
	}
	p.each(func(of int, h *hold) {
		if s.held++; of != who && h.isAwaited() && p.works(h.at) {
			most := p.passport.hold()
			if h.name == schedule.Acquire {
				most = p.passport.holdAcquire()
			}
			s.left = min(s.left, most-time.Since(h.since))
		}
	})
	return s
}

// isAwaited reports whether a client waits for what is held. One that gives up on a release does not count: that is a
// result, too.
func (h *hold) isAwaited() bool {
	return !h.late && (h.name != schedule.Release || h.reply) && h.atDatabase == nil
}

// works reports whether an instance is neither stopped nor cut off.
func (p *player) works(at int) bool { return p.stopped[at].IsZero() && p.cut[at].IsZero() }

// block records that the other held orders have sent nothing since a time.
func (p *player) block(who int, since time.Time) {
	p.each(func(of int, h *hold) {
		if o := p.customers[of].order; of != who && h.isUnder() {
			if o.blocked.from.IsZero() {
				o.blocked.from = since
			}
			o.blocked.to = time.Now()
		}
	})
}

// lastEnd returns when the last order ended, or now if there was none.
func (p *player) lastEnd() (end time.Time) {
	record := p.byOrder()
	for i := range p.customers {
		if o := p.customers[i].order; o != nil {
			end = later(end, endOf(o, record[o]))
		}
	}
	if end.IsZero() {
		return time.Now()
	}
	return end
}

// holder returns the instance of a held order, or else a.
func (p *player) holder() (at int) {
	p.each(func(_ int, h *hold) { at = h.at })
	return at
}

// orderAt returns the order in flight at an instance, or else its last one; nil if there was none.
func (p *player) orderAt(at int) (last *order) {
	for _, o := range p.orders {
		if o.At == at && (last == nil || last.HasEnded()) {
			last = o
		}
	}
	return last
}

// noteAt records a fault of an instance and its order, from since until now.
func (p *player) noteAt(at int, since time.Time, kind history.FaultKind, format string, args ...any) {
	o := p.orderAt(at)
	if o == nil {
		o = p.newOrder("", at, history.Buy)
	}
	p.note(o, since, kind, format, args...)
}

// pass waits for d.
func (p *player) pass(d time.Duration) {
	p.each(func(_ int, h *hold) { h.fault = true })
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// expire waits until the lease of a held order expires. If its client would give up on a release first, the trial
// removes the lock instead.
func (p *player) expire() (err error) {
	isLate, waits := false, true
	p.each(func(_ int, h *hold) {
		h.fault = true
		if h.late {
			isLate = true
		} else if why := aLongReply(p.passport); why != "" && p.works(h.at) && h.atDatabase == nil {
			if waits = false; h.name != schedule.Release {
				err = errors.New(why)
			}
		}
	})
	if p.expired = waits; waits {
		p.pass(p.passport.expiry(isLate))
	} else if err == nil {
		p.noteEnds(time.Now(), history.LeaseOver)
		err = p.remove()
	}
	p.endLocks()
	return err
}

// endLocks records that the held orders may have lost their locks.
func (p *player) endLocks() { p.each(func(_ int, h *hold) { h.over = true }) }

// removeLock removes the lock, or releases the trial's own.
func (p *player) removeLock() error {
	if !p.taken.from.IsZero() {
		return p.giveBack()
	}
	since := time.Now()
	p.noteEnds(since, history.LockRemoved)
	err := p.remove()
	p.noteAt(p.holder(), since, "", "its lock removed")
	p.endLocks()
	return err
}

// giveBack releases the trial's own lock, and records its tenure. No order may have acquired the lock.
func (p *player) giveBack() error {
	for o, commands := range p.byOrder() {
		if o != nil && !tookAt(commands).IsZero() {
			p.why = p.passport.whyNotKept()
		}
	}
	since, taken, freed := p.since(p.taken.from), p.since(p.taken.to), time.Now()
	p.taken = span{}
	p.letLocks()
	if err := p.remove(); err != nil || p.why != "" {
		return err
	}
	ours := history.Op{Order: p.Product + "-" + history.OfTrial, Phase: history.Buy, Instance: cause.Us,
		Outcome: history.NotSold,
		Detail:  "the trial itself, which kept the lock", Sent: since, Done: p.since(freed),
		Lease: &history.Lease{AcquiredAt: taken, ReleasedAt: p.since(freed)}}
	for _, key := range p.passport.Locks {
		ours.Trace = append(ours.Trace,
			history.Command{Node: p.Stores[0].Host, Cmd: "restore", Key: key, Reply: "OK", At: since, End: taken,
				Source: history.Looked, Effect: history.EffectAcquired | history.Endless},
			history.Command{Node: p.Stores[0].Host, Cmd: "del", Key: key, Reply: "1", At: p.since(freed),
				End: p.since(time.Now()), Source: history.Looked, Effect: history.EffectReleased})
	}
	p.extra = append(p.extra, ours)
	at := atA
	if len(p.orders) > 0 {
		at = p.orders[0].At
	}
	p.noteAt(at, p.cell.Start.Add(time.Duration(taken)), "", "refused the lock, which the trial kept")
	return nil
}

// crash kills an instance.
func (p *player) crash(at int) error {
	p.noteAt(at, time.Now(), history.FaultKill, "killed")
	if err := p.Kill(p.Ends[at]); err != nil {
		return err
	}
	for _, o := range p.orders {
		if o.At == at {
			<-o.Done()
		}
	}
	return nil
}

// goOn resumes a stopped instance. Held replies are delivered first, so that no client times out on them.
func (p *player) goOn(at int) error {
	since := p.stopped[at]
	if slices.ContainsFunc(p.sentBy(at), func(c observation) bool {
		return !c.cmd.Message && c.cmd.Came.After(since.Add(margin/4)) // commands that it had already sent may arrive later
	}) {
		return errors.New("the shop kept running while it was stopped: start it in the foreground")
	}
	p.noteAt(at, since, history.FaultStop, "stopped %s", round(time.Since(since)))
	for i := range p.customers {
		if c := &p.customers[i]; c.order != nil && c.At == at {
			p.letGo(c)
		}
	}
	time.Sleep(20 * time.Millisecond) // until the reply has arrived
	p.stopped[at] = time.Time{}
	return p.Ends[at].In.Continue()
}

// finish ends a line.
func (p *player) finish() {
	for i := range p.customers {
		p.letGo(&p.customers[i])
	}
	if !p.taken.from.IsZero() {
		p.letLocks()
		_ = p.remove()
	}
	p.endLongLeases()
	switch {
	case p.unheard == nil || p.why != "":
	case p.unheard.cmd == nil:
		p.why = "no order waited for a message"
	default:
		p.noteAt(p.unheard.at, p.unheard.cmd.Came, "", "its message lost")
	}
}

// endLongLeases expires the leases of a killed instance that are too long to wait for.
func (p *player) endLongLeases() {
	state := p.looker.Load().Look()
	ends := slices.ContainsFunc(p.passport.locks, func(l wire.Lock) bool {
		s := state[l.Key]
		return l.Held(s) && !s.Ends.IsZero()
	})
	if p.passport.Lease() > mostLease && ends && slices.ContainsFunc([]int{atA, atB}, p.isDown) {
		p.noteEnds(time.Now(), history.LeaseOver)
		_ = p.remove()
	}
}

// needsOf returns the requirements of a line.
func needsOf(line schedule.Line) (needs []requirement) {
	for _, m := range line {
		if n := m.Request(); n > 0 {
			needs = append(needs, requirement{why: func(p *Passport) string {
				return cmp.Or(p.requests.why, either(n <= p.requests.all, "", p.requests.String()))
			}})
		} else if n, err := strconv.Atoi(m.Mark); err == nil {
			needs = append(needs, requirement{why: func(p *Passport) string {
				return either(n <= len(p.steps), "", fmt.Sprintf("a sale has %d commands", len(p.steps)))
			}})
		} else if need, known := needsOfWords[m.Mark+m.Verb]; known {
			needs = append(needs, need)
		}
	}
	return needs
}

var needsOfWords = map[string]requirement{
	schedule.Acquire: needLock, schedule.Acquired: needLock, schedule.Read: needWindow, schedule.Write: needWrite,
	schedule.Release: needRelease, schedule.Release2: needTwo, schedule.Waits: needLock, schedule.Renewal: needRenewal,
	schedule.Subscribe: needMessage, "take": needLock, "remove": needLock, "drop": needMessage,
}
