package learn

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// holdOne holds a sale at a before its write, while another order comes to b. It has to be repeated if orders sent
// scripts that the server did not have: a renewal may have queued behind the held reply. If the other order is let in,
// it asks again before it is sure that there is no lock.
func holdOne(b *record.Bench, sure bool) (again bool, err error) {
	p := b.Passport
	last := p.BeforeWrite()
	if p.Early {
		last = &p.Steps[slices.IndexFunc(p.Steps, func(s sale.Step) bool { return p.Acquires[s.Shape] })]
	}
	if len(p.Locks) == 0 || last == nil {
		p.Waiting = "were not observed"
		return false, nil
	}
	b.Begin("", "")
	if err := b.Pair.Put(b.Pair.Shop.UnitsFor(0)); err != nil {
		return false, err
	}
	held := b.Pair.Rig.SetTrap(b.ReplyOf(shop.AtA, last, time.Now()))
	anna, why := b.Anna(held)
	if why != "" {
		return false, strayed(b, anna)
	}
	begun := time.Now()
	if err := lookAtHeld(b, b.SentBy(shop.AtA)); err != nil { // all are Anna's
		return false, err
	}
	bert := b.Send("bert", shop.AtB)
	watchPatience(b, anna, held.Command(), begun)
	let := time.Now()
	held.GoOn()
	<-anna.Done()
	byOrder := b.ByOrder()
	watchRenewals(b, held.Command(), byOrder[anna])
	checkEnd(b, bert, byOrder, shop.Span{From: begun, To: let})
	onData := slices.DeleteFunc(b.SentBy(shop.AtA), func(c record.Observation) bool {
		return !b.Pair.Ledger.OnData(c.Args)
	})
	watchBackground(b, onData, begun, let)
	watchWaiter(b, bert, byOrder[bert])
	<-bert.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
	worked := workedAt(b, bert, byOrder[bert])
	if !worked.IsZero() && wasLetIn(b, bert, worked, begun) && !removedIn(byOrder, shop.Span{From: begun, To: worked}) {
		if !sure {
			return holdOne(b, true)
		}
		p.SetKeys(nil)
		p.Waiting = "were not observed"
		if err := describeAnew(b); err != nil {
			return false, err
		}
		return false, learnSharing(b)
	}
	if next := record.AcquiredAt(byOrder[bert]); !removedIn(byOrder, shop.Span{From: begun, To: next}) {
		learnStart(b, record.AcquiredAt(byOrder[anna]), next, let)
	}
	known := len(p.Scripts)
	again = keepScripts(b) > known && p.Every == 0
	watchSlow(b)
	return again, b.Pair.Looker.Load().Err()
}

// checkEnd drops a lease that something beside the lock named, if nothing ended it while its order was held for longer,
// although another one waited.
func checkEnd(b *record.Bench, bert *shop.Order, byOrder map[*shop.Order][]record.Observation, held shop.Span) {
	p := b.Passport
	over := held.To.Sub(held.From) > p.InValue && bert.IsOpen(held.From.Add(p.InValue+soon(b)))
	next := record.AcquiredAt(byOrder[bert])
	if p.EndsIn != "" && over && !removedIn(byOrder, held) && (next.IsZero() || next.After(held.To)) {
		p.InValue, p.EndsIn = 0, ""
	}
}

// watchPatience learns how long the client of a held order waits for the reply. An order that was answered before says
// nothing by its end.
func watchPatience(b *record.Bench, anna *shop.Order, held *wire.Command, begun time.Time) {
	p := b.Passport
	limit := min(p.Lease(), 10*time.Second) + p.Lead + time.Second
	answered := anna.HasEnded()
	for time.Since(begun) < limit && (answered || !anna.HasEnded()) && !sentAgain(b, held) {
		time.Sleep(10 * time.Millisecond) // a client gives up without a word
	}
	if took := time.Since(begun); took < limit {
		p.Patience, p.Resends = took, sentAgain(b, held)
	}
}

// learnStart learns a lease that began at the time in the lock's value or score. The waiters know how long it is: one
// acquires the lock while its holder is held, before any TTL has expired.
func learnStart(b *record.Bench, took, next, let time.Time) {
	p := b.Passport
	started := slices.ContainsFunc(p.Keys, func(l wire.Lock) bool {
		state := p.Held[l.Key]
		return !l.Start(&state).IsZero() && l.Deadline(&state).IsZero()
	})
	lease := next.Sub(took).Round(10 * time.Millisecond)
	if started && !next.IsZero() && next.Before(let) && (p.TTL == 0 || lease < p.TTL-sale.AMoment/2) {
		p.TTL, p.InValue = 0, lease
	}
}

// removedIn reports whether a command removed the lock in a span. Then the lock did not let an order in.
func removedIn(byOrder map[*shop.Order][]record.Observation, in shop.Span) bool {
	for _, commands := range byOrder {
		for _, c := range commands {
			if in.Has(c.Sent) && c.Did((*history.Command).Releases) {
				return true
			}
		}
	}
	return false
}

// strayed returns why an order did not reach the command that the plain orders before it sent.
func strayed(b *record.Bench, o *shop.Order) error {
	b.Pair.Rig.Quiet(b.Pair.Context)
	writes, _, err := b.Writes()
	if err == nil {
		err = problem(b, o, writes)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: an order sent different commands from the one before", shop.ErrShop)
}

// workedAt returns when an order first wrote the stock or, if writes are not observed, when it had sold; zero if it did
// not.
func workedAt(b *record.Bench, o *shop.Order, commands []record.Observation) time.Time {
	if b.Pair.Shop.IsElsewhere() {
		if b.HasSold(o) {
			return o.Over
		}
		return time.Time{}
	}
	if i := slices.IndexFunc(commands, record.WritesStock); i >= 0 {
		return commands[i].Sent
	}
	return time.Time{}
}

// hasWorked reports whether an order has written the stock, while no other one at its instance could, or has sold if
// writes are not observed.
func hasWorked(b *record.Bench, o *shop.Order) bool {
	if b.Pair.Shop.IsElsewhere() {
		return b.HasSold(o)
	}
	return b.HasWritten(o)
}

// wasLetIn reports whether an order wrote the stock at once although another one held the supposed lock, which then is
// no lock.
func wasLetIn(b *record.Bench, o *shop.Order, wrote, held time.Time) bool {
	return wrote.Sub(o.Sent) < soon(b) && wrote.Sub(held) < b.Passport.Lease()
}

// lookAtHeld records the state and the lease of the lock while an order holds it.
func lookAtHeld(b *record.Bench, commands []record.Observation) error {
	p := b.Passport
	p.Held = b.Pair.Looker.Load().Look()
	_ = b.Pair.Alone(func(*redis.Client) error { // the looker reads them for each command
		for i := range p.Keys {
			if l, state := &p.Keys[i], p.Held[p.Keys[i].Key]; len(l.Parts) == 1 {
				l.Steps = l.Step(&state, l.Parts[0])
			}
		}
		return nil
	})
	state := p.Held[p.Keys[0].Key]
	if p.Kind = state.Kind; !state.Exists() {
		p.Kind = p.Keys[0].Rest.Kind
	}
	ends := p.Keys[0].Deadline(&state)
	for _, d := range record.EffectsOf(commands) {
		switch {
		case !d.Acquired(), d.Key != p.Keys[0].String():
		case !ends.IsZero() && (state.Ends.IsZero() || state.Ends.Sub(ends) > soon(b)):
			p.TTL, p.InValue = 0, ends.Sub(d.Sent).Round(10*time.Millisecond) // a later TTL only cleans up
		case p.Kind == "none" || !state.Ends.IsZero() && state.Ends.Sub(d.Sent) < 10*time.Millisecond:
			p.Kind, p.TTL = "string", ttlOf(d.Args) // it has expired, or is about to
		case !state.Ends.IsZero():
			p.TTL = state.Ends.Sub(d.Sent).Round(10 * time.Millisecond)
		}
	}
	for i := range p.Keys[1:] {
		tellLonger(p, &p.Keys[i+1], commands)
	}
	return b.Pair.Looker.Load().Err()
}

// tellLonger records the TTL of another key of the lock if it is longer: only then is the whole lock lost. With a key
// that has none it never is.
func tellLonger(p *sale.Passport, l *wire.Lock, commands []record.Observation) {
	state := p.Held[l.Key]
	if p.TTL == 0 || !l.Held(state) || !l.Deadline(&state).IsZero() {
		return
	}
	for _, d := range record.EffectsOf(commands) {
		switch {
		case !d.Acquired() || d.Key != l.String():
		case state.Ends.IsZero():
			p.TTL = 0
		default:
			p.TTL = max(p.TTL, state.Ends.Sub(d.Sent).Round(10*time.Millisecond))
		}
	}
}

// ttlOf returns the TTL that a SET gives its key, 0 if none.
func ttlOf(args []string) time.Duration {
	for i, arg := range args {
		unit := map[string]time.Duration{"PX": time.Millisecond, "EX": time.Second}[strings.ToUpper(arg)]
		if unit > 0 && i+1 < len(args) {
			n, _ := strconv.Atoi(args[i+1])
			return time.Duration(n) * unit
		}
	}
	return 0
}

// watchSlow learns from a slow order whether the lock is renewed, if no held order has shown that.
func watchSlow(b *record.Bench) {
	p := b.Passport
	if p.Slow = b.Pair.Shop.Slow != nil; !p.Slow || p.Every > 0 {
		return
	}
	if b.Begin("", ""); b.Pair.Put(b.Pair.Shop.UnitsFor(0)) != nil {
		return
	}
	slow := b.Buy("slow", shop.AtA, history.Buy, *b.Pair.Shop.Slow, p.Lease()*3/2)
	<-slow.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
	notePeriod(b, slow)
}

// notePeriod records the period in which the lock of an order at work was renewed. An immediate renewal belongs to the
// acquire.
func notePeriod(b *record.Bench, o *shop.Order) {
	p := b.Passport
	commands := b.ByOrder()[o]
	took := record.AcquiredAt(commands)
	for _, d := range record.EffectsOf(commands) {
		if renews(&d) && d.Sent.Sub(took) > p.Lease()/10 && p.Every == 0 {
			p.Renewals[b.Shape(&d.Seen)] = true
			p.Every = d.Sent.Sub(took)
		}
	}
}

// renews reports whether a command renewed the lock. An acquire of a reentrant lock by its holder prolongs it, and so
// does the release that follows: they change its count.
func renews(d *record.Effect) bool { return d.Prolongs() && !d.Stepped }

// sentAgain reports whether the client of a held command has sent it again, on another connection.
func sentAgain(b *record.Bench, held *wire.Command) (again bool) {
	b.Pair.Rig.Gate.Each(func(cmd *wire.Command) {
		again = again || cmd != held && cmd.Client == held.Client && cmd.Came.After(held.Sent) &&
			cmd.Conn != held.Conn && slices.Equal(cmd.Args, held.Args)
	})
	return again
}

// watchRenewals learns how the lock was renewed while its order was held at that command. The period is that of one
// key, since keys of one lock are renewed together, or each by a timer of its own. Simultaneous renewals count as one.
func watchRenewals(b *record.Bench, held *wire.Command, commands []record.Observation) {
	p := b.Passport
	times, key := []time.Time{held.Sent}, ""
	for _, d := range record.EffectsOf(commands) {
		shape := b.Shape(&d.Seen)
		if record.WritesStock(d.Observation) { // a later one may shorten the lease, to let the lock expire
			break
		}
		again := slices.Equal(d.Args, held.Args) // by a client that gave up on the reply: a reentrant lock is prolonged
		if !renews(&d) || d.Sent.Before(held.Answered) || p.Writes[shape] || again {
			continue
		}
		p.Renewals[shape] = true
		p.Shared = p.Shared || d.Conn == held.Conn
		if key = cmp.Or(key, d.Key); d.Key == key && d.Sent.Sub(times[len(times)-1]) > p.Lease()/50 {
			times = append(times, d.Sent)
		}
	}
	n := min(len(times), 3)
	if n == 1 || p.Every > 0 {
		return
	}
	every := times[n-1].Sub(times[n-2])
	// Else it belongs to the acquire, and later ones are held: see watchSlow.
	if every > p.Lease()/10 || b.Pair.Shop.Slow == nil {
		p.Every = every
	}
}

// watchBackground learns from the commands of an instance which it sends in the background: those that came between
// two times, while its only order waited for a held reply, more often than in a plain sale, which may contain one by
// chance. Renewals are the order's, and so are reads of a lock that is renewed.
func watchBackground(b *record.Bench, commands []record.Observation, from, to time.Time) {
	p := b.Passport
	if p.Background == nil {
		p.Background = sale.Shapes{}
	}
	left := map[sale.Shape]int{} // how many are the order's
	for _, s := range p.Steps {
		left[s.Shape]++
	}
	for _, c := range commands {
		shape := b.Shape(&c.Seen)
		ofOrder := p.Usual(shape) != history.EffectNothing || c.Did((*history.Command).Prolongs) ||
			p.Every > 0 && shape.IsOnLock()
		if !c.Came.After(from) || !c.Came.Before(to) || ofOrder {
			continue
		}
		if left[shape]--; left[shape] < 0 {
			p.Background[shape] = true
		}
	}
}
