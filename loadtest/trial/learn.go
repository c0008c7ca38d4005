package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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

// Passport learns the lock of a shop from plain sales, from one that is held before its write, and from one that
// finds the lock taken. It learns the sold-out answer from an order for an empty shelf. A passport beside an error says
// what was learned until then.
func Passport(ctx context.Context, s *shop.Shop) (p *sale.Passport, err error) {
	defer func() {
		if err != nil && ctx.Err() != nil { // such as a dead server
			err = context.Cause(ctx)
		}
	}()
	if err := s.Prepare(ctx); err != nil {
		return nil, err
	}
	s.Say("starting two instances of the shop…")
	p = &sale.Passport{Facts: history.Facts{Elsewhere: s.IsElsewhere()}, Late: map[sale.Kind]sale.LateCommand{}}
	b, err := record.Open(ctx, s, p)
	if err != nil {
		return nil, err
	}
	defer b.Pair.Close()
	if s.IsElsewhere() {
		if err := checkShelf(b, s.UnitsFor(0)); err != nil {
			return nil, err
		}
	}
	s.Say("learning what the lock is…")
	if err := learnLocks(b); err != nil {
		return nil, unknownFirst(b, err)
	}
	if err := learnRequests(b); err != nil {
		return nil, err
	}
	if err := learnSharing(b); err != nil {
		return nil, err
	}
	again, err := holdOne(b, false)
	if err == nil {
		watchAtWork(b)
	}
	switch {
	case err != nil:
		return p, unknownFirst(b, err)
	case !again:
		return p, learnSoldOut(b)
	}
	if b, err = Warm(ctx, s, p); err != nil { // a shop that lost its lock may be down
		return p, err
	}
	defer b.Pair.Close()
	if _, err = holdOne(b, false); err != nil {
		return p, err
	}
	return p, learnSoldOut(b)
}

// unknownFirst prefixes an error of the shop with the command of its last orders that the server did not know: that is
// the likely cause.
func unknownFirst(b *record.Bench, err error) error {
	if !errors.Is(err, shop.ErrShop) {
		return err
	}
	name := ""
	b.Pair.Gate.Each(func(cmd *wire.Command) { name = cmp.Or(name, b.Pair.Ledger.Unknown(&cmd.Seen)) })
	if name == "" {
		return err
	}
	version := b.Pair.Stores[0].Redis.InfoMap(b.Pair.Context, "server").Item("Server", "redis_version")
	rest := strings.TrimPrefix(err.Error(), shop.ErrShop.Error()+": ")
	return fmt.Errorf("%w: it sends %s, which the trial's Redis %s does not know: put a newer redis-server on the "+
		"PATH; %s", shop.ErrShop, history.Clip(name), version, rest)
}

// firstSales buys one unit at each instance, and returns the written keys besides the stock. It fails if the shop
// cannot be tried.
func firstSales(b *record.Bench) (written map[wire.Key]time.Time, err error) {
	b.Begin("", "")
	b.Cell.Initial = b.Pair.Shop.UnitsFor(0) // they were put when the instances were up: --set may remove recorded sales
	if err := b.BeginCount(); err != nil {
		return nil, err
	}
	for at := range b.Pair.Ends {
		o, err := firstAt(b, at)
		if err != nil {
			return nil, err
		}
		if moved, err := findStock(b, o); err != nil {
			return nil, err
		} else if moved {
			if o, err = firstAt(b, at); err != nil {
				return nil, err
			}
		}
		if b.Pair.Quiet(b.Pair.Context); at == shop.AtA {
			(&firstOrder{bench: b, order: o}).tell()
		}
		if _, written, err = writesOf(b, o); err != nil {
			return nil, err
		}
		if at == shop.AtA {
			if err := checkCounted(b, countedWithin); err != nil {
				return nil, err
			}
		}
		b.Passport.Takes = o.Over.Sub(o.Sent) // an upper bound: a first order may have to connect
	}
	b.Passport.Scripts = b.Pair.Ledger.Scripts()
	if b.Pair.Shop.Shelf().Field == "" {
		delete(written, wire.Key{DB: b.Pair.Shop.DB, Name: b.Pair.Shop.Shelf().Key})
	}
	return written, nil
}

// findStock moves the stock to another Redis database if the first order looked for it only there.
func findStock(b *record.Bench, o *shop.Order) (moved bool, err error) {
	if b.Pair.Quiet(b.Pair.Context); o.At != shop.AtA {
		return false, nil
	}
	if _, _, err := b.Pair.Ledger.Writes(b.Pair.Context); err != nil {
		return false, err
	}
	found := b.Pair.Ledger.Databases(b.Pair.Ends[o.At].Wires[0].Owns)
	if len(found) != 1 || found[0] == b.Pair.Shop.DB {
		return false, nil
	}
	err = b.Pair.Alone(func(to *redis.Client) error { return b.Pair.AtShelf(to, "DEL", b.Pair.Shop.Shelf().Key).Err() })
	if err != nil {
		return false, err
	}
	b.Pair.Shop.DB = found[0]
	b.Pair.Shop.Say(fmt.Sprintf("moving the stock to database %d, where the shop looks for it…", b.Pair.Shop.DB))
	b.Pair.Ledger.Follow(b.Pair.Shop.DB)
	b.Pair.LookAt(nil)
	b.Begin("", "")
	return true, nil
}

// firstAt sends the first order to an instance, again while it is answered 503: some shops warm up.
func firstAt(b *record.Bench, at int) (*shop.Order, error) {
	for begun := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		o, err := b.Plain("first-"+strconv.Itoa(at), at)
		if err != nil {
			return nil, err
		}
		<-o.Done()
		over := time.Since(begun) > b.Pair.Shop.Within || wire.IsClosed(b.Pair.Context.Done())
		if over || o.Op.Status != http.StatusServiceUnavailable {
			return o, nil
		}
		b.Pair.Shop.Say(fmt.Sprintf("503: retrying for up to %s…", b.Pair.Shop.Within))
	}
}

// writesOf waits until a plain order is over, and returns the writes of the stock in the cell, and all written keys. It
// fails if the order shows that the shop cannot be tried.
func writesOf(b *record.Bench, o *shop.Order) (writes []record.Written, keys map[wire.Key]time.Time, err error) {
	<-o.Done()
	b.Pair.Quiet(b.Pair.Context)
	if writes, keys, err = b.Writes(); err != nil {
		return nil, nil, err
	}
	return writes, keys, problem(b, o, writes)
}

// A plainSale is what a plain order did.
type plainSale struct {
	commands []record.Observation
	writes   []record.Written
	looker   *wire.Looker
	own      []wire.Key // the keys that it created and removed, and that no other order has named
}

// plainSales buys one unit at a, one at b, and another at a.
func plainSales(b *record.Bench) (sales []*plainSale, err error) {
	b.Begin("", "")
	p := b.Passport
	_, known, err := b.Pair.Ledger.Writes(b.Pair.Context)
	if err != nil {
		return nil, err
	}
	for i, at := range []int{shop.AtA, shop.AtB, shop.AtA} {
		b.BecomesFree() // else the order would first wait for a lock that is kept for a while
		o, err := b.Plain("plain-"+strconv.Itoa(i), at)
		if err != nil {
			return nil, err
		}
		writes, keys, err := writesOf(b, o)
		if err != nil {
			return nil, err
		}
		b.AwaitLate()
		p.Takes = min(p.Takes, o.Over.Sub(o.Sent))
		s := &plainSale{commands: record.AsExecuted(b.ByOrder()[o]), writes: writes, looker: b.Pair.Looker.Load()}
		if s.own, err = madeAndRemoved(b, known, keys, writes); err != nil {
			return nil, err
		}
		sales = append(sales, s)
	}
	knowScripts(p, sales)
	keepScripts(b)
	return sales, b.Pair.Looker.Load().Err()
}

// knowScripts records which scripts several of the sales have sent. The text of any other contains a value
// of its order.
func knowScripts(p *sale.Passport, sales []*plainSale) {
	first := map[string]*plainSale{}
	if p.Ours == nil {
		p.Ours = map[string]bool{}
	}
	for _, s := range sales {
		for _, c := range s.commands {
			if len(c.Args) < 2 || c.Name != "eval" {
				continue
			}
			of := sale.Digest(c.Args)
			if first[of] == nil {
				first[of] = s
			}
			p.Ours[of] = p.Ours[of] || first[of] != s
		}
	}
}

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
	held := b.Pair.SetTrap(b.ReplyOf(shop.AtA, last, time.Now()))
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
	watchBackground(b, slices.DeleteFunc(b.SentBy(shop.AtA), func(c record.Observation) bool { return !b.Pair.Ledger.OnData(c.Args) }),
		begun, let)
	watchWaiter(b, bert, byOrder[bert])
	<-bert.Done()
	b.Pair.Quiet(b.Pair.Context)
	worked := workedAt(b, bert, byOrder[bert])
	if !worked.IsZero() && wasLetIn(b, bert, worked, begun) && !removedIn(byOrder, shop.Span{From: begun, To: worked}) {
		if !sure {
			return holdOne(b, true)
		}
		p.SetKeys(nil)
		p.Waiting = "were not observed"
		return false, describeAnew(b)
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

// watchPatience learns how long the client of a held order waits for the reply.
func watchPatience(b *record.Bench, anna *shop.Order, held *wire.Command, begun time.Time) {
	p := b.Passport
	limit := min(p.Lease(), 10*time.Second) + time.Second
	for time.Since(begun) < limit && !anna.HasEnded() && !sentAgain(b, held) {
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
	if o.Op.Outcome != history.Sold {
		return problem(b, o, nil)
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
	return b.Pair.Looker.Load().Err()
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

// keepScripts records the scripts that orders have sent in full, and returns how many there are.
func keepScripts(b *record.Bench) int {
	if _, _, err := b.Pair.Ledger.Writes(b.Pair.Context); err == nil { // the ledger is up to date then
		b.Passport.Scripts = b.Pair.Ledger.Scripts()
	}
	return len(b.Passport.Scripts)
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
	b.Pair.Quiet(b.Pair.Context)
	notePeriod(b, slow)
}

// notePeriod records the period in which the lock of an order at work was renewed. An immediate renewal belongs to the
// acquire.
func notePeriod(b *record.Bench, o *shop.Order) {
	p := b.Passport
	commands := b.ByOrder()[o]
	took := record.AcquiredAt(commands)
	for _, d := range record.EffectsOf(commands) {
		if d.Prolongs() && d.Sent.Sub(took) > p.Lease()/10 && p.Every == 0 {
			p.Renewals[b.Shape(&d.Seen)] = true
			p.Every = d.Sent.Sub(took)
		}
	}
}

// sentAgain reports whether the client of a held command has sent it again, on another connection.
func sentAgain(b *record.Bench, held *wire.Command) (again bool) {
	b.Pair.Gate.Each(func(cmd *wire.Command) {
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
		if !d.Prolongs() || d.Sent.Before(held.Answered) || p.Writes[shape] {
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

// watchWaiter learns how an order that found the lock taken waited.
func watchWaiter(b *record.Bench, o *shop.Order, commands []record.Observation) {
	p := b.Passport
	blocks := ""
	tries, shape := triesOf(b, commands)
	p.Tries = sale.Shapes{shape: len(tries) > 0}
	for _, c := range commands {
		p.Messages = p.Messages || c.Subscribes || c.Message
		if b.Pair.Looker.Load().Blocks(c.Args) {
			blocks = strings.ToUpper(c.Args[0])
		}
	}
	switch {
	case p.Messages:
		p.Waiting = "are woken by a message"
	case blocks != "":
		p.Waiting = "block in " + blocks
	case wokenBetween(tries, b.Pair.Ends[o.At].Wires[0].Invalidations()):
		p.Waiting = "are woken by an invalidation (client tracking)"
	case len(tries) > 2:
		var gaps []time.Duration
		for i := range len(tries) - 1 {
			gaps = append(gaps, tries[i+1].Sub(tries[i]))
		}
		slices.Sort(gaps)
		p.Waiting = "poll every " + gaps[len(gaps)/2].Round(time.Millisecond).String()
	case o.HasEnded() && o.Ended.Sub(o.Sent) < 300*time.Millisecond:
		p.Waiting = "do not wait"
	default:
		p.Waiting = "wait without sending commands"
	}
}

// triesOf returns when an order tried to acquire the lock's key that it tried first: when it sent those of its tries, or
// looks, that it sent most often, and their shape. It may look by one command, and acquire by another.
func triesOf(b *record.Bench, commands []record.Observation) (tries []time.Time, most sale.Shape) {
	key, times := "", map[sale.Shape][]time.Time{}
	for _, d := range record.EffectsOf(commands) {
		shape := b.Shape(&d.Seen)
		renews := b.Passport.Renewals[shape] && !b.Passport.Acquires[shape]
		if !d.Acquires() || renews || !slices.Contains(b.Passport.Locks, d.Key) {
			continue
		}
		if key = cmp.Or(key, d.Key); d.Key != key {
			continue
		}
		times[shape] = append(times[shape], d.Sent)
		if most = cmp.Or(most, shape); len(times[shape]) > len(times[most]) {
			most = shape
		}
	}
	return times[most], most
}

// wokenBetween reports whether one of these times lies between each try and the next.
func wokenBetween(tries, came []time.Time) bool {
	for i := range len(tries) - 1 {
		if !slices.ContainsFunc(came, func(t time.Time) bool { return t.After(tries[i]) && t.Before(tries[i+1]) }) {
			return false
		}
	}
	return len(tries) > 1
}
