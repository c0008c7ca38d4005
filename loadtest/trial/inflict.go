package trial

import (
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
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

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

const (
	crowdOrders  = 20 // at each instance
	crowdAtOnce  = 8  // of them
	crowdPatient = 10 * time.Second

	programs       = 10 // the same, if a program sends each order
	programsAtOnce = 4
)

// crowdAt has crowds buy at that many instances, at full speed: the effects of commands are not observed, unless the
// stock has to be read back after a write.
func crowdAt(instances int) func(*record.Bench) string {
	return func(b *record.Bench) string {
		orders, atOnce, atMost := crowdOrders, crowdAtOnce, crowdPatient
		if b.Pair.Shop.Order.IsProgram() {
			orders, atOnce = programs, programsAtOnce
			atMost += time.Duration(orders*instances) * b.Passport.Takes // one may come after the other
		}
		b.Pair.Blind.Store(!b.Passport.ReadBack)
		defer b.Pair.Blind.Store(false)
		b.Pair.Rig.Gate.OpenAll()
		ctx, cancel := context.WithTimeout(b.Pair.Context, atMost)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		for at := range instances {
			plan := load.Plan{Requests: orders, Concurrency: atOnce,
				Send: func(_ context.Context, _, _ time.Time, i int) history.Op {
					mu.Lock()
					o := b.Send(fmt.Sprintf("%s-%d", b.Pair.Rig.Ends[at].Name, i+1), at)
					mu.Unlock()
					<-o.Done()
					return o.Op
				}}
			all.Go(func() { _, _ = load.Run(ctx, plan) }) // a cell is judged by its orders, not by what load measures
		}
		all.Wait()
		b.Pair.Rig.Quiet(b.Pair.Context)
		b.Pair.Rig.Gate.Close()
		return ""
	}
}

// slowWork sends the shop's own slow order.
func slowWork(b *record.Bench) string {
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
func isStep(b *record.Bench, steps []sale.Step, k int) func(*wire.Command) bool {
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

// errorReply has the Redis refuse a command of Anna's sale with an error. Then Bert orders.
func errorReply(number int) func(*record.Bench) string {
	return func(b *record.Bench) string {
		k := b.Passport.Ahead + number - 1
		answer := refusal(b.Passport, &b.Passport.Steps[k])
		anna, why := b.Anna(b.Pair.Rig.SetTrap(&rig.CommandTrap{At: shop.AtA, Does: schedule.Refuse, Answer: answer,
			Is: isStep(b, b.Passport.Steps, k)}))
		if why != "" {
			return why
		}
		b.Note(anna, time.Now(), rig.RefusedFault(number, codeOf(answer)))
		<-anna.Done()
		sellAt(b, shop.AtB, "bert", history.Buy, b.WorkedUntil(anna))
		return ""
	}
}

// renewalsLost loses the renewals of Anna's lock.
func renewalsLost(b *record.Bench) string {
	p := b.Passport
	isRenewal := func(cmd *wire.Command) bool {
		shape := b.Shape(&cmd.Seen) // a renewal may be the same command as the acquire
		return p.Renewals[shape] && (!p.Acquires[shape] || b.Shown().Since(shop.AtA).Known())
	}
	lose := b.Pair.Rig.SetTrap(&rig.CommandTrap{At: shop.AtA, Does: schedule.LostRequest, Always: true, Is: isRenewal})
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
func settle(b *record.Bench, o *shop.Order) {
	released := func() bool { return b.ReleasedFor(o).Known() }
	b.Shown().Await(b.Passport.Takes+sale.Margin, b.Pair.Rig.Ends[o.At].In.Exited(), released)
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
func restart(b *record.Bench) error {
	err := b.Pair.Alone(func(to *redis.Client) error {
		now, err := wire.Snapshot(b.Pair.Context, to)
		for key := range now {
			if before, was := b.AtFirst[key]; key.Name != b.Pair.Shop.Shelf().Key && err == nil {
				switch ttl := before.TTL(); {
				case !was:
					before = wire.KeyState{Kind: "none"}
				case before.Opaque: // its data are unknown
					continue
				case ttl > 0: // it may have been put again since, for this cell
					before.Ends = time.Now().Add(ttl)
				}
				err = wire.PutState(b.Pair.Context, to, key, before)
			}
		}
		return errors.Join(err, to.ScriptFlush(b.Pair.Context).Err())
	})
	for _, e := range b.Pair.Rig.Ends {
		e.Wires[0].Break()
	}
	return err
}
