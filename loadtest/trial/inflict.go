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
	if b.Pair.Ends[at].Database != nil {
		return b.SetWorkTrap(reply)
	}
	return b.Pair.SetTrap(reply)
}

// NoRequest is why an order is not held at a request to the database.
const NoRequest = "the order sent nothing to the database under its lock"

// BertUntil sends a customer's orders to an instance, again when one is refused, until one sells, something has
// happened, or the time is over. It returns the last order.
func (b *Bench) BertUntil(name string, at int, atMost time.Duration, happened <-chan struct{}) (o *shop.Order) {
	begun, late := time.Now(), time.After(atMost)
	_ = rig.Fresh(b.Pair.Context, atMost, func(number int) (over bool) {
		if number > 1 && time.Since(begun) > atMost {
			return true
		}
		o = b.Send(b.NextOf(name), at)
		select {
		case <-o.Done():
			return b.HasSold(o)
		case <-happened:
		case <-late:
		}
		return true
	})
	return o
}

// NextOf returns the name of a customer's next order.
func (b *Bench) NextOf(name string) string {
	n := 1
	for _, o := range b.Orders {
		if o.Name == name || strings.HasPrefix(o.Name, name+"-") {
			n++
		}
	}
	return shop.Nth(name, n)
}

func (b *Bench) Send(name string, at int) *shop.Order {
	return b.Buy(name, at, history.Buy, b.Pair.Shop.Order, 0)
}

// Note records a fault of an order, from since until now.
func (b *Bench) Note(o *shop.Order, since time.Time, f history.Fault) {
	o.Note(b.Cell, f, since, time.Now())
}

// NoteEnds notes that the trial, or the server, ends the lock of each order that holds it at a time: see
// [bench.assignEnds].
func (b *Bench) NoteEnds(then time.Time, why string) {
	b.ends = append(b.ends, lockEnd{b.Since(then), why})
}

const (
	crowdOrders  = 20 // at each instance
	crowdAtOnce  = 8  // of them
	crowdPatient = 10 * time.Second
)

// crowdAt has crowds buy at that many instances, at full speed: the effects of commands are not observed, unless the
// stock has to be read back after a write.
func crowdAt(instances int) func(*Bench) string {
	return func(b *Bench) string {
		b.Pair.Blind.Store(!b.Passport.ReadBack)
		defer b.Pair.Blind.Store(false)
		b.Pair.Gate.OpenAll()
		ctx, cancel := context.WithTimeout(b.Pair.Context, crowdPatient)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		for at := range instances {
			plan := load.Plan{Requests: crowdOrders, Concurrency: crowdAtOnce,
				Send: func(_ context.Context, _, _ time.Time, i int) history.Op {
					mu.Lock()
					o := b.Send(fmt.Sprintf("%s-%d", b.Pair.Ends[at].Name, i+1), at)
					mu.Unlock()
					<-o.Done()
					return o.Op
				}}
			all.Go(func() { _, _ = load.Run(ctx, plan) }) // a cell is judged by its orders, not by what load measures
		}
		all.Wait()
		b.Pair.Quiet(b.Pair.Context)
		b.Pair.Gate.Close()
		return ""
	}
}

// slowWork sends the shop's own slow order.
func slowWork(b *Bench) string {
	work := b.Passport.Lease() * 5 / 2
	anna := b.Buy("anna", shop.AtA, history.Buy, *b.Pair.Shop.Slow, work)
	time.Sleep(b.Passport.Lease() / 4) // so that Anna holds the lock when Bert comes
	bert := b.Send("bert", shop.AtB)
	<-anna.Done()
	b.Note(anna, anna.Sent, rig.WorkFault(work, b.Passport.Lease()))
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
func isStep(b *Bench, steps []sale.Step, k int) func(*wire.Command) bool {
	nth := 0
	for _, s := range steps[:k] {
		if s.Shape == steps[k].Shape {
			nth++
		}
	}
	return func(cmd *wire.Command) bool {
		if b.Shape(&cmd.Seen) != steps[k].Shape {
			return false
		}
		nth--
		return nth < 0
	}
}

// errorReply has the Redis refuse command number k of Anna's sale with an error. Then Bert orders.
func errorReply(k int) func(*Bench) string {
	return func(b *Bench) string {
		answer := refusal(b.Passport, &b.Passport.Steps[k])
		anna, why := b.Anna(b.Pair.SetTrap(&rig.CommandTrap{At: shop.AtA, Does: schedule.Refuse, Answer: answer,
			Is: isStep(b, b.Passport.Steps, k)}))
		if why != "" {
			return why
		}
		b.Note(anna, time.Now(), rig.RefusedFault(k+1, codeOf(answer)))
		<-anna.Done()
		sellAt(b, shop.AtB, "bert", history.Buy, b.WorkedUntil(anna))
		return ""
	}
}

// renewalsLost loses the renewals of Anna's lock.
func renewalsLost(b *Bench) string {
	p := b.Passport
	isRenewal := func(cmd *wire.Command) bool {
		shape := b.Shape(&cmd.Seen) // a renewal may be the same command as the acquire
		return p.Renewals[shape] && (!p.Acquires[shape] || b.Shown().Since(shop.AtA).Known())
	}
	lose := b.Pair.SetTrap(&rig.CommandTrap{At: shop.AtA, Does: schedule.LostRequest, Always: true, Is: isRenewal})
	anna, why, goOn := b.AnnaAtWork()
	defer goOn()
	if why != "" {
		return why
	}
	since := time.Now()
	b.BertUntil("bert", shop.AtB, p.LongestHold(), nil)
	if !rig.HasCaught(lose) {
		return "no renewal came while Anna was at work"
	}
	b.Note(anna, since, rig.LostRenewalsFault(time.Since(since)))
	return ""
}

// settle waits until the shop no longer works for a customer who has hung up: it may still sell to her.
func settle(b *Bench, o *shop.Order) {
	released := func() bool { return b.ReleasedFor(o).Known() }
	b.Shown().Await(b.Passport.Takes+sale.Margin, b.Pair.Ends[o.At].In.Exited(), released)
}

// Remove removes the lock: it puts its keys into their states at rest.
func (b *Bench) Remove() error { return b.putLocks(nil) }

// putLocks puts the keys of the lock into those states, and the others into their states at rest.
func (b *Bench) putLocks(held map[wire.Key]wire.KeyState) error {
	return b.Pair.Alone(func(to *redis.Client) (err error) {
		for _, lock := range b.Passport.Keys {
			state, is := held[lock.Key]
			if !is {
				state = lock.Rest
			}
			err = errors.Join(err, lock.Put(b.Pair.Context, to, state))
		}
		return err
	})
}

// leastKept is the least TTL of a lock that the trial keeps: it has to renew it in time, on a busy machine too.
const leastKept = 2 * time.Second

// KeepLocks puts the keys of the lock into those states, and keeps them there until stop is called: it renews their
// TTLs, since a lock without one may be taken for a lost one, and removed.
func (b *Bench) KeepLocks(held map[wire.Key]wire.KeyState) (stop func(), err error) {
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
	ctx, cancel := context.WithCancel(b.Pair.Context)
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for every := time.NewTicker(least / 4); ; {
			select {
			case <-every.C:
				_ = b.Pair.Alone(func(to *redis.Client) (err error) {
					for _, lock := range b.Passport.Keys {
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
func restart(b *Bench) error {
	err := b.Pair.Alone(func(to *redis.Client) error {
		now, err := wire.Snapshot(b.Pair.Context, to)
		for key := range now {
			if before, was := b.Passport.Before[key]; key.Name != b.Pair.Shop.Shelf().Key && err == nil {
				if !was {
					before = wire.KeyState{Kind: "none"}
				}
				err = wire.PutState(b.Pair.Context, to, key, before)
			}
		}
		return errors.Join(err, to.ScriptFlush(b.Pair.Context).Err())
	})
	for _, e := range b.Pair.Ends {
		e.Wires[0].Break()
	}
	return err
}
