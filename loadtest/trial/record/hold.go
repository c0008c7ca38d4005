package record

import (
	"sync"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// ReplyOf returns a trap for the reply to a step's command at an instance, if the command had the step's effect. Of
// several such commands in an order, it catches the one in the same place after the acquire as in a plain sale. Only an
// acquire since then counts: another order at the instance may hold the lock, or have lost it without a release.
func (b *Bench) ReplyOf(at int, s *sale.Step, then time.Time) (t *rig.CommandTrap) {
	early, ahead := b.Passport.ComesEarly(s), b.Passport.AheadOf(s)
	taken := history.Never // the last acquire
	came := 0              // such commands since then
	return &rig.CommandTrap{At: at, Reply: true,
		Is: func(cmd *wire.Command) bool {
			if b.Shape(&cmd.Seen) != s.Shape {
				return false
			}
			if since := b.Shown().Since(at); since != taken {
				taken, came = since, 0
			}
			if early && (!taken.Known() || taken <= b.Since(then)) {
				return false
			}
			came++
			return came > ahead
		},
		Did: func(cmd *wire.Command) bool {
			return len(s.Effects) == 0 || AnyOf(b.Pair.Looker.Load().Traced(cmd), func(c *history.Command) bool {
				return AnyOf(s.Effects, func(e *history.Command) bool { return c.Effect == e.Effect })
			})
		}}
}

// Anna sends an order to a, and waits until a trap has caught it. It returns why the trap did not, "" if it did.
func (b *Bench) Anna(t rig.Trap) (*shop.Order, string) {
	o := b.Send("anna", shop.AtA)
	if rig.Catches(t, o.InFlight, b.Passport.HTTPTime()+sale.Margin) { // any order is over by then
		return o, ""
	}
	return o, "the order ended without sending the command at which the fault was due"
}

// AnnaAtWork sends an order to a, and waits until it is held at its work under the lock: see trapAtWork. It returns why
// it is not, "" if it is. Call goOn.
func (b *Bench) AnnaAtWork() (o *shop.Order, why string, goOn func()) {
	t := b.trapAtWork(shop.AtA)
	o, why = b.Anna(t)
	if work, is := t.(*WorkTrap); is && why != "" && rig.HasCaught(work.Reply) {
		why = NoRequest
	}
	return o, why, t.GoOn
}

// trapAtWork sets a trap for the reply to the last command before the write or, if the stock is in a database, for the
// next request to that.
func (b *Bench) trapAtWork(at int) rig.Trap {
	reply := b.ReplyOf(at, b.Passport.BeforeWrite(), time.Now())
	if b.Pair.Rig.Ends[at].Database != nil {
		return b.SetWorkTrap(reply)
	}
	return b.Pair.Rig.SetTrap(reply)
}

// NoRequest is why an order is not held at a request to the database.
const NoRequest = "the order sent nothing to the database under its lock"

// A WorkTrap holds an order at its next request to the database once it has the reply to its acquire: only then does
// it know that it holds the lock. Plain sales have no fixed pattern, or the mark would be a request.
type WorkTrap struct {
	Reply  *rig.CommandTrap
	caught chan struct{}

	mu      sync.Mutex
	over    chan struct{}    // closed when the trap is removed
	Request *rig.RequestTrap // nil until the reply has arrived
}

// SetWorkTrap sets a trap that first catches that reply.
func (b *Bench) SetWorkTrap(reply *rig.CommandTrap) *WorkTrap {
	t := &WorkTrap{Reply: b.Pair.Rig.SetTrap(reply), caught: make(chan struct{}), over: make(chan struct{})}
	b.Pair.Tasks.Go(func() {
		select {
		case <-reply.Caught():
		case <-t.over:
			return
		case <-b.Pair.Context.Done():
			return
		}
		if !t.goToRequest(b.Pair.Rig.Ends[reply.At].Database) {
			return
		}
		select {
		case <-t.Request.Caught():
			close(t.caught)
		case <-t.over:
		case <-b.Pair.Context.Done():
		}
	})
	return t
}

// goToRequest passes on the reply, and catches the next request. It reports whether the trap was still set.
func (t *WorkTrap) goToRequest(d *rig.Database) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wire.IsClosed(t.over) {
		return false
	}
	t.Request = d.Trap(d.NextOrder()-1, 0, false)
	t.Reply.GoOn()
	return true
}

// Caught implements [rig.Trap].
func (t *WorkTrap) Caught() <-chan struct{} { return t.caught }

// GoOn implements [rig.Trap].
func (t *WorkTrap) GoOn() { t.end(rig.Trap.GoOn) }

// Lose implements [rig.Trap].
func (t *WorkTrap) Lose() { t.end(rig.Trap.Lose) }

func (t *WorkTrap) end(how func(rig.Trap)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wire.IsClosed(t.over) {
		return
	}
	close(t.over)
	if how(t.Reply); t.Request != nil {
		how(t.Request)
	}
}
