package trial

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
)

// atWork returns the move to the start of an order's work under the lock: the last command before the write, or the
// first request to the database.
func (p *player) atWork(m schedule.Move) schedule.Move {
	if under := p.passport.requests.under; m.Mark == schedule.Read && len(under) > 0 {
		m.Mark, m.Reply = fmt.Sprintf("db%d", under[0]), false
	}
	return m
}

// goToRequest runs an order until its request to the database, or the reply, is held. A customer who is
// refused while another order is held orders again, except for the first of the line.
func (p *player) goToRequest(m schedule.Move, c *customer) {
	d := p.Ends[m.At].Database
	if d == nil {
		p.why = p.passport.requests.why
		return
	}
	s := p.scene(m.Who)
	late := time.Now().Add(p.passport.deadline(m, s))
	for n := 1; p.why == "" && !p.holdsAtRequest(m, c, n, time.Until(late)); n++ {
		if !s.open || time.Now().After(late) || p.isFirst(m.Who) || p.hasSold(c.order) {
			p.why = fmt.Sprintf("%s did not reach request %d to the database", people[m.Who], m.Request())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// holdsAtRequest runs a customer's nth order, or the one in flight, for atMost, and reports whether it is held at a
// request.
func (p *player) holdsAtRequest(m schedule.Move, c *customer, n int, atMost time.Duration) bool {
	d, isNew := p.Ends[m.At].Database, n > 1 || c.order == nil
	if isNew {
		p.opened[m.At] = d.BeginOrder()
	}
	t := d.Trap(m.Request(), m.Reply)
	if p.letGo(c); isNew {
		c.order = p.bench.send(nth(nameOf(m.Who), n), m.At)
	}
	select {
	case <-t.Caught():
	case <-c.Done():
	case <-time.After(atMost):
	}
	if isClosed(t.Caught()) {
		if p.why = p.misplaced(m, c.order); p.why == "" {
			c.holds = append(c.holds, p.holdAt(m, t))
			return true
		}
	}
	t.Release()
	return false
}

// misplaced returns why the request at which an order is held is not the one of that number in plain sales, "" if it
// may be: an order that opens a connection sends more requests, with other numbers. Only a lock shows that.
func (p *player) misplaced(m schedule.Move, o *order) string {
	if len(p.passport.Locks) == 0 {
		return ""
	}
	of, number := &p.passport.requests, m.Request()
	came := of.comesTooEarly(number, p.byOrder()[o])
	if came != "" { // an asynchronous release may be in flight
		p.Quiet(p.ctx)
		came = of.comesTooEarly(number, p.byOrder()[o])
	}
	if came == "" {
		return ""
	}
	return fmt.Sprintf("%s did not send the database the requests of a plain sale, as on a new connection: request %d "+
		"came %s", people[m.Who], number, came)
}

// comesTooEarly returns what should have happened to the lock before an order's request of that number and has not, ""
// if nothing.
func (r *requests) comesTooEarly(number int, commands []observation) string {
	released := slices.ContainsFunc(effectsOf(commands), func(d effect) bool { return d.Releases() })
	switch {
	case slices.Contains(r.under, number) && tookAt(commands).IsZero():
		return "before the lock was acquired"
	case slices.Contains(r.after, number) && !released:
		return "before the lock was released"
	}
	return ""
}

// holdAt returns the hold of a trap at the database.
func (p *player) holdAt(m schedule.Move, t *rig.Trap) *hold {
	of := p.passport.requests
	name := fmt.Sprintf("request %d of %d to the database", m.Request(), max(m.Request(), of.all))
	return &hold{trap: &trap{at: m.At, reply: m.Reply}, atDatabase: t, name: name, since: time.Now()}
}

// isUnder reports whether an order is held while it holds the lock.
func (h *hold) isUnder() bool { return h.reply || h.atDatabase != nil }

// waitsForDatabase returns a channel that is closed once a request of an instance waits for another transaction.
func (p *player) waitsForDatabase(at int, done <-chan struct{}) <-chan struct{} {
	d, waits := p.Ends[at].Database, make(chan struct{})
	if d == nil {
		return nil
	}
	p.all.Go(func() {
		for !isClosed(done) && p.ctx.Err() == nil {
			if d.Waiting(aRequest) {
				close(waits)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return waits
}
