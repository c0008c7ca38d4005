package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// replyOf returns a trap for the reply to a step's command at an instance, if the command had the step's effect. Of
// several such commands in an order, it catches the one in the same place after the acquire as in a plain sale. Only an
// acquire from now on counts: another order at the instance may hold the lock, or have lost it without a release.
func (b *bench) replyOf(at int, s *step) (t *trap) {
	early, ahead := b.passport.comesEarly(s), b.passport.aheadOf(s)
	taken := history.Never // the last acquire
	came := 0              // such commands since then
	t = &trap{at: at, reply: true, since: b.since(time.Now()),
		is: func(cmd *wire.Command) bool {
			if b.shape(&cmd.Seen) != s.shape {
				return false
			}
			if since := b.heldSince(at); since != taken {
				taken, came = since, 0
			}
			if early && (!taken.Known() || taken <= t.since) {
				return false
			}
			came++
			return came > ahead
		},
		did: func(effects []history.Command) bool {
			return len(s.effects) == 0 || anyOf(effects, func(c *history.Command) bool {
				return anyOf(s.effects, func(e *history.Command) bool { return c.Effect == e.Effect })
			})
		}}
	return t
}

// refusal returns the error by which a Redis refuses the command of a step: a replica refuses the acquire, as after a
// failover; a full memory the write of the stock; and a server that is starting any other command, since reads and
// deletes need no memory.
func (p *Passport) refusal(s *step) string {
	switch {
	case p.acquires[s.shape]:
		return "READONLY You can't write against a read only replica."
	case p.writes[s.shape]:
		return "OOM command not allowed when used memory > 'maxmemory'."
	}
	return "LOADING Redis is loading the dataset in memory"
}

// codeOf returns the first word of an error, which identifies it to clients.
func codeOf(err string) string {
	code, _, _ := strings.Cut(err, " ")
	return code
}

// anna sends an order to a, and waits until the trap has caught it. It returns why the trap did not, "" if it did.
func (b *bench) anna(t *trap) (*order, string) {
	b.set(t)
	o := b.send("anna", atA)
	if t.springs(o, b.passport.httpTime()+margin) { // any order is over by then
		return o, ""
	}
	return o, "the order ended without sending the command at which the fault was due"
}

// annaAtWork sends an order to a, and waits until it is held at its work under the lock: at the reply before its write
// or, since it does not know that it holds the lock before it has that reply, at its next request to the database. It
// returns why it is not, "" if it is. Call release.
func (b *bench) annaAtWork() (o *order, why string, release func()) {
	reply := b.replyOf(atA, b.passport.beforeWrite())
	if o, why = b.anna(reply); why != "" || b.Ends[atA].Database == nil {
		return o, why, func() { b.unset(reply) }
	}
	t, held := b.toDatabase(o, reply)
	return o, either(held, "", noRequest), t.Release
}

// noRequest is why an order is not held at a request to the database.
const noRequest = "the order sent nothing to the database under its lock"

// bertUntil sends a customer's orders to an instance, again when one is refused, until one sells, something has
// happened, or the time is over. It returns the last order.
func (b *bench) bertUntil(name string, at int, atMost time.Duration, happened <-chan struct{}) (o *order) {
	begun, late := time.Now(), time.After(atMost)
	sent := slices.DeleteFunc(slices.Clone(b.orders), func(o *order) bool {
		return o.name != name && !strings.HasPrefix(o.name, name+"-")
	})
	_ = rig.Fresh(b.ctx, atMost, func(number int) (over bool) {
		if number > 1 && time.Since(begun) > atMost {
			return true
		}
		o = b.send(nth(name, len(sent)+number), at)
		select {
		case <-o.Done():
			return b.hasSold(o)
		case <-happened:
		case <-late:
		}
		return true
	})
	return o
}

// nth returns the name of a customer's nth order.
func nth(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}

func (b *bench) send(name string, at int) *order { return b.buy(name, at, history.Buy, b.Order, 0) }

// wait waits until an order has ended, for atMost.
func wait(o *order, atMost time.Duration) {
	select {
	case <-o.Done():
	case <-time.After(atMost):
	}
}

// note records a fault of an order, from since until now.
func (b *bench) note(o *order, since time.Time, kind history.FaultKind, format string, args ...any) {
	o.Note(b.cell, history.Fault{Kind: kind, Text: fmt.Sprintf(format, args...)}, since, time.Now())
}

// noteOf records a fault of an order's command.
func (b *bench) noteOf(o *order, since time.Time, kind history.FaultKind, command, format string, args ...any) {
	b.note(o, since, kind, format, args...)
	b.cell.Faults[len(b.cell.Faults)-1].Command = command
}

// noteEnds notes that the trial, or the server, ends the lock of each order that holds it at a time: see
// [bench.assignEnds].
func (b *bench) noteEnds(then time.Time, why string) {
	b.ends = append(b.ends, lockEnd{b.since(then), why})
}

const (
	crowdOrders  = 20 // at each instance
	crowdAtOnce  = 8  // of them
	crowdShelf   = 15 // units for each instance
	crowdPatient = 10 * time.Second
)

// crowdAt has crowds buy at that many instances, at full speed: the effects of commands are not observed, unless the
// stock has to be read back after a write.
func crowdAt(instances int) func(*bench) string {
	return func(b *bench) string {
		b.blind.Store(!b.passport.readBack)
		defer b.blind.Store(false)
		b.Gate.OpenAll()
		ctx, cancel := context.WithTimeout(b.ctx, crowdPatient)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		for at := range instances {
			plan := load.Plan{Requests: crowdOrders, Concurrency: crowdAtOnce,
				Send: func(_ context.Context, _, _ time.Time, i int) history.Op {
					mu.Lock()
					o := b.send(fmt.Sprintf("%s-%d", b.Ends[at].Name, i+1), at)
					mu.Unlock()
					<-o.Done()
					return o.Op
				}}
			all.Go(func() { _, _ = load.Run(ctx, plan) }) // a cell is judged by its orders, not by what load measures
		}
		all.Wait()
		b.Quiet(b.ctx)
		b.Gate.Close()
		return ""
	}
}

// slowWork sends the shop's own slow order.
func slowWork(b *bench) string {
	work := b.passport.Lease() * 5 / 2
	anna := b.buy("anna", atA, history.Buy, *b.Slow, work)
	time.Sleep(b.passport.Lease() / 4)
	bert := b.send("bert", atB)
	<-anna.Done()
	b.note(anna, anna.Sent, "", "working %s under a lease of %s", work, b.passport.Lease())
	<-bert.Done()
	return ""
}

// land delivers a late command.
func (b *bench) land(t *trap) {
	b.unset(t)
	select {
	case <-t.cmd.Done():
	case <-time.After(margin):
	}
}

// whyKept returns why an order does not acquire the lock although the lease of its holder, at the same instance or at
// the other one, has expired.
func (p *Passport) whyKept(atSame bool) string {
	switch {
	case p.Every > 0:
		return "it is renewed until then"
	case p.Messages:
		return cause.Asleep
	case atSame:
		return "orders of one instance may queue behind each other, or their commands on one connection"
	}
	return "it outlived its lease"
}

// isStep returns a match for command number k of these steps of a sale.
func (b *bench) isStep(steps []step, k int) func(*wire.Command) bool {
	nth := 0
	for _, s := range steps[:k] {
		if s.shape == steps[k].shape {
			nth++
		}
	}
	return func(cmd *wire.Command) bool {
		if b.shape(&cmd.Seen) != steps[k].shape {
			return false
		}
		nth--
		return nth < 0
	}
}

// errorReply has the Redis refuse command number k of Anna's sale with an error. Then Bert orders.
func errorReply(k int) func(*bench) string {
	return func(b *bench) string {
		answer := b.passport.refusal(&b.passport.steps[k])
		anna, why := b.anna(&trap{at: atA, does: schedule.Refuse, answer: answer, is: b.isStep(b.passport.steps, k)})
		if why != "" {
			return why
		}
		b.note(anna, time.Now(), "", "command %d answered %s", k+1, codeOf(answer))
		<-anna.Done()
		b.sellAt(atB, "bert", history.Buy, b.workedUntil(anna))
		return ""
	}
}

// renewalsLost loses the renewals of Anna's lock.
func renewalsLost(b *bench) string {
	p := b.passport
	lose := b.set(&trap{at: atA, does: schedule.LostRequest, always: true, is: func(cmd *wire.Command) bool {
		shape := b.shape(&cmd.Seen) // a renewal may be the same command as the acquire
		return p.renewals[shape] && (!p.acquires[shape] || b.heldSince(atA).Known())
	}})
	anna, why, release := b.annaAtWork()
	defer release()
	if why != "" {
		return why
	}
	since := time.Now()
	b.bertUntil("bert", atB, p.hold(), nil)
	if !isClosed(lose.sprung) {
		return "no renewal came while Anna was at work"
	}
	b.noteOf(anna, since, history.FaultLost, schedule.Renewal, "its renewals lost for %s", round(time.Since(since)))
	return ""
}

// settle waits until the shop no longer works for a customer who has hung up: it may still sell to her.
func (b *bench) settle(o *order) {
	b.holders.await(b.passport.Takes+margin, b.Ends[o.At].In.Exited(), func() bool { return b.releasedFor(o).Known() })
}

// remove removes the lock: it puts its keys into their states at rest.
func (b *bench) remove() error { return b.putLocks(nil) }

// putLocks puts the keys of the lock into those states, and the others into their states at rest.
func (b *bench) putLocks(held map[wire.Key]wire.KeyState) error {
	return b.alone(func(to *redis.Client) (err error) {
		for _, lock := range b.passport.locks {
			state, is := held[lock.Key]
			if !is {
				state = lock.Rest
			}
			err = errors.Join(err, lock.Put(b.ctx, to, state))
		}
		return err
	})
}

// leastKept is the least TTL of a lock that the trial keeps: it has to renew it in time, on a busy machine too.
const leastKept = 2 * time.Second

// keepLocks puts the keys of the lock into those states, and keeps them there until stop is called: it renews their
// TTLs, since a lock without one may be taken for a lost one, and removed.
func (b *bench) keepLocks(held map[wire.Key]wire.KeyState) (stop func(), err error) {
	kept, least := map[wire.Key]wire.KeyState{}, time.Duration(0)
	for key, state := range held {
		if ttl := state.TTL(); ttl > 0 {
			ttl = max(ttl, leastKept)
			state.Ends = state.At.Add(ttl)
			least = min(cmp.Or(least, ttl), ttl)
		}
		kept[key] = state
	}
	if err := b.putLocks(kept); err != nil || least == 0 {
		return func() {}, err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for every := time.NewTicker(least / 4); ; {
			select {
			case <-every.C:
				_ = b.alone(func(to *redis.Client) (err error) {
					for _, lock := range b.passport.locks {
						err = errors.Join(err, lock.Prolong(ctx, to, kept[lock.Key]))
					}
					return err
				})
			case <-ctx.Done():
				every.Stop()
				return
			}
		}
	})
	return func() {
		cancel()
		renewer.Wait()
	}, nil
}

// whyNotKept returns why an order acquires the lock although the trial has put it into the state in which an order held
// it.
func (p *Passport) whyNotKept() string {
	switch {
	case p.InValue > 0:
		return fmt.Sprintf("the lease is in the lock's %s, and may have expired when the trial puts it back", p.where())
	case !slices.ContainsFunc(p.locks, func(l wire.Lock) bool { return l.Held(p.held[l.Key]) }):
		return "the lock was gone before the trial could see it held: the trial cannot put it back"
	}
	return "the lock that the trial puts back keeps no order out"
}

// restart has the effect of a restart that keeps the stock, and the keys from before the first order.
func (b *bench) restart() error {
	err := b.alone(func(to *redis.Client) error {
		now, err := wire.Snapshot(b.ctx, to)
		for key := range now {
			if before, was := b.passport.before[key]; key.Name != b.shelf().Key && err == nil {
				if !was {
					before = wire.KeyState{Kind: "none"}
				}
				err = wire.PutState(b.ctx, to, key, before)
			}
		}
		return errors.Join(err, to.ScriptFlush(b.ctx).Err())
	})
	for _, e := range b.Ends {
		e.Wires[0].Break()
	}
	return err
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
