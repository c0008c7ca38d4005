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
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// replyOf returns a trap for the reply to a step's command at an instance, if the command had the step's effect. Of
// several such commands in an order, it catches the one in the same place after the acquire as in a plain sale. Only an
// acquire since then counts: another order at the instance may hold the lock, or have lost it without a release.
func (b *bench) replyOf(at int, s *sale.Step, then time.Time) (t *rig.CommandTrap) {
	early, ahead := b.passport.ComesEarly(s), b.passport.AheadOf(s)
	taken := history.Never // the last acquire
	came := 0              // such commands since then
	return &rig.CommandTrap{At: at, Reply: true,
		Is: func(cmd *wire.Command) bool {
			if b.shape(&cmd.Seen) != s.Shape {
				return false
			}
			if since := b.shown().since(at); since != taken {
				taken, came = since, 0
			}
			if early && (!taken.Known() || taken <= b.since(then)) {
				return false
			}
			came++
			return came > ahead
		},
		Did: func(cmd *wire.Command) bool {
			return len(s.Effects) == 0 || anyOf(b.pair.Looker.Load().Traced(cmd), func(c *history.Command) bool {
				return anyOf(s.Effects, func(e *history.Command) bool { return c.Effect == e.Effect })
			})
		}}
}

// refusal returns the error by which a Redis refuses the command of a step: a replica refuses the acquire, as after a
// failover; a full memory the write of the stock; and a server that is starting any other command, since reads and
// deletes need no memory.
func refusal(p *sale.Passport, s *sale.Step) string {
	switch {
	case p.Acquires[s.Shape]:
		return "READONLY You can't write against a read only replica."
	case p.Writes[s.Shape]:
		return "OOM command not allowed when used memory > 'maxmemory'."
	}
	return "LOADING Redis is loading the dataset in memory"
}

// codeOf returns the first word of an error, which identifies it to clients.
func codeOf(err string) string {
	code, _, _ := strings.Cut(err, " ")
	return code
}

// anna sends an order to a, and waits until a trap has caught it. It returns why the trap did not, "" if it did.
func (b *bench) anna(t rig.Trap) (*shop.Order, string) {
	o := b.send("anna", shop.AtA)
	if rig.Catches(t, o.InFlight, b.passport.HTTPTime()+sale.Margin) { // any order is over by then
		return o, ""
	}
	return o, "the order ended without sending the command at which the fault was due"
}

// annaAtWork sends an order to a, and waits until it is held at its work under the lock: see trapAtWork. It returns why
// it is not, "" if it is. Call goOn.
func (b *bench) annaAtWork() (o *shop.Order, why string, goOn func()) {
	t := b.trapAtWork(shop.AtA)
	o, why = b.anna(t)
	if work, is := t.(*workTrap); is && why != "" && rig.HasCaught(work.reply) {
		why = noRequest
	}
	return o, why, t.GoOn
}

// trapAtWork sets a trap for the reply to the last command before the write or, if the stock is in a database, for the
// next request to that.
func (b *bench) trapAtWork(at int) rig.Trap {
	reply := b.replyOf(at, b.passport.BeforeWrite(), time.Now())
	if b.pair.Ends[at].Database != nil {
		return b.setWorkTrap(reply)
	}
	return b.pair.SetTrap(reply)
}

// noRequest is why an order is not held at a request to the database.
const noRequest = "the order sent nothing to the database under its lock"

// bertUntil sends a customer's orders to an instance, again when one is refused, until one sells, something has
// happened, or the time is over. It returns the last order.
func (b *bench) bertUntil(name string, at int, atMost time.Duration, happened <-chan struct{}) (o *shop.Order) {
	begun, late := time.Now(), time.After(atMost)
	_ = rig.Fresh(b.pair.Context, atMost, func(number int) (over bool) {
		if number > 1 && time.Since(begun) > atMost {
			return true
		}
		o = b.send(b.nextOf(name), at)
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

// nextOf returns the name of a customer's next order.
func (b *bench) nextOf(name string) string {
	n := 1
	for _, o := range b.orders {
		if o.Name == name || strings.HasPrefix(o.Name, name+"-") {
			n++
		}
	}
	return shop.Nth(name, n)
}

func (b *bench) send(name string, at int) *shop.Order {
	return b.buy(name, at, history.Buy, b.pair.Shop.Order, 0)
}

// note records a fault of an order, from since until now.
func (b *bench) note(o *shop.Order, since time.Time, f history.Fault) {
	o.Note(b.cell, f, since, time.Now())
}

// noteEnds notes that the trial, or the server, ends the lock of each order that holds it at a time: see
// [bench.assignEnds].
func (b *bench) noteEnds(then time.Time, why string) {
	b.ends = append(b.ends, lockEnd{b.since(then), why})
}

const (
	crowdOrders  = 20 // at each instance
	crowdAtOnce  = 8  // of them
	crowdPatient = 10 * time.Second
)

// crowdAt has crowds buy at that many instances, at full speed: the effects of commands are not observed, unless the
// stock has to be read back after a write.
func crowdAt(instances int) func(*bench) string {
	return func(b *bench) string {
		b.pair.Blind.Store(!b.passport.ReadBack)
		defer b.pair.Blind.Store(false)
		b.pair.Gate.OpenAll()
		ctx, cancel := context.WithTimeout(b.pair.Context, crowdPatient)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		for at := range instances {
			plan := load.Plan{Requests: crowdOrders, Concurrency: crowdAtOnce,
				Send: func(_ context.Context, _, _ time.Time, i int) history.Op {
					mu.Lock()
					o := b.send(fmt.Sprintf("%s-%d", b.pair.Ends[at].Name, i+1), at)
					mu.Unlock()
					<-o.Done()
					return o.Op
				}}
			all.Go(func() { _, _ = load.Run(ctx, plan) }) // a cell is judged by its orders, not by what load measures
		}
		all.Wait()
		b.pair.Quiet(b.pair.Context)
		b.pair.Gate.Close()
		return ""
	}
}

// slowWork sends the shop's own slow order.
func slowWork(b *bench) string {
	work := b.passport.Lease() * 5 / 2
	anna := b.buy("anna", shop.AtA, history.Buy, *b.pair.Shop.Slow, work)
	time.Sleep(b.passport.Lease() / 4) // so that Anna holds the lock when Bert comes
	bert := b.send("bert", shop.AtB)
	<-anna.Done()
	b.note(anna, anna.Sent, rig.WorkFault(work, b.passport.Lease()))
	<-bert.Done()
	return ""
}

// whyKept returns why an order does not acquire the lock although the lease of its holder, at the same instance or at
// the other one, has expired.
func whyKept(p *sale.Passport, atSame bool) string {
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
func isStep(b *bench, steps []sale.Step, k int) func(*wire.Command) bool {
	nth := 0
	for _, s := range steps[:k] {
		if s.Shape == steps[k].Shape {
			nth++
		}
	}
	return func(cmd *wire.Command) bool {
		if b.shape(&cmd.Seen) != steps[k].Shape {
			return false
		}
		nth--
		return nth < 0
	}
}

// errorReply has the Redis refuse command number k of Anna's sale with an error. Then Bert orders.
func errorReply(k int) func(*bench) string {
	return func(b *bench) string {
		answer := refusal(b.passport, &b.passport.Steps[k])
		anna, why := b.anna(b.pair.SetTrap(&rig.CommandTrap{At: shop.AtA, Does: schedule.Refuse, Answer: answer,
			Is: isStep(b, b.passport.Steps, k)}))
		if why != "" {
			return why
		}
		b.note(anna, time.Now(), rig.RefusedFault(k+1, codeOf(answer)))
		<-anna.Done()
		sellAt(b, shop.AtB, "bert", history.Buy, b.workedUntil(anna))
		return ""
	}
}

// renewalsLost loses the renewals of Anna's lock.
func renewalsLost(b *bench) string {
	p := b.passport
	isRenewal := func(cmd *wire.Command) bool {
		shape := b.shape(&cmd.Seen) // a renewal may be the same command as the acquire
		return p.Renewals[shape] && (!p.Acquires[shape] || b.shown().since(shop.AtA).Known())
	}
	lose := b.pair.SetTrap(&rig.CommandTrap{At: shop.AtA, Does: schedule.LostRequest, Always: true, Is: isRenewal})
	anna, why, goOn := b.annaAtWork()
	defer goOn()
	if why != "" {
		return why
	}
	since := time.Now()
	b.bertUntil("bert", shop.AtB, p.LongestHold(), nil)
	if !rig.HasCaught(lose) {
		return "no renewal came while Anna was at work"
	}
	b.note(anna, since, rig.LostRenewalsFault(time.Since(since)))
	return ""
}

// settle waits until the shop no longer works for a customer who has hung up: it may still sell to her.
func settle(b *bench, o *shop.Order) {
	released := func() bool { return b.releasedFor(o).Known() }
	b.shown().await(b.passport.Takes+sale.Margin, b.pair.Ends[o.At].In.Exited(), released)
}

// remove removes the lock: it puts its keys into their states at rest.
func (b *bench) remove() error { return b.putLocks(nil) }

// putLocks puts the keys of the lock into those states, and the others into their states at rest.
func (b *bench) putLocks(held map[wire.Key]wire.KeyState) error {
	return b.pair.Alone(func(to *redis.Client) (err error) {
		for _, lock := range b.passport.Keys {
			state, is := held[lock.Key]
			if !is {
				state = lock.Rest
			}
			err = errors.Join(err, lock.Put(b.pair.Context, to, state))
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
	ctx, cancel := context.WithCancel(b.pair.Context)
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for every := time.NewTicker(least / 4); ; {
			select {
			case <-every.C:
				_ = b.pair.Alone(func(to *redis.Client) (err error) {
					for _, lock := range b.passport.Keys {
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
func whyNotKept(p *sale.Passport) string {
	switch {
	case p.InValue > 0:
		return fmt.Sprintf("the lease is in the lock's %s, and may have expired when the trial puts it back", p.Where())
	case !slices.ContainsFunc(p.Keys, func(l wire.Lock) bool { return l.Held(p.Held[l.Key]) }):
		return "the lock was gone before the trial could see it held: the trial cannot put it back"
	}
	return "the lock that the trial puts back keeps no order out"
}

// restart has the effect of a restart that keeps the stock, and the keys from before the first order.
func restart(b *bench) error {
	err := b.pair.Alone(func(to *redis.Client) error {
		now, err := wire.Snapshot(b.pair.Context, to)
		for key := range now {
			if before, was := b.passport.Before[key]; key.Name != b.pair.Shop.Shelf().Key && err == nil {
				if !was {
					before = wire.KeyState{Kind: "none"}
				}
				err = wire.PutState(b.pair.Context, to, key, before)
			}
		}
		return errors.Join(err, to.ScriptFlush(b.pair.Context).Err())
	})
	for _, e := range b.pair.Ends {
		e.Wires[0].Break()
	}
	return err
}
