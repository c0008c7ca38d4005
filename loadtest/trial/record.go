package trial

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// Hit returns the order that the first fault hit, nil if there is none.
func (b *Bench) Hit() *shop.Order {
	for _, f := range b.Cell.Faults {
		for _, o := range b.Orders {
			if o.Op.Order == f.Order {
				return o
			}
		}
	}
	return nil
}

// An Effect is what a command did to a key of the lock, or to the stock.
type Effect struct {
	Observation
	history.Command
}

func EffectsOf(commands []Observation) (all []Effect) {
	for _, c := range commands {
		for _, e := range c.Effects {
			all = append(all, Effect{c, e})
		}
	}
	return all
}

func (d *Effect) Acquired() bool { return sale.Acquired(&d.Command) }

// AcquiredAt returns when an order first took the lock.
func AcquiredAt(commands []Observation) time.Time {
	for _, d := range EffectsOf(commands) {
		if d.Acquired() {
			return d.Sent
		}
	}
	return time.Time{}
}

// An Observation is a command that was forwarded to the Redis, with its effects.
type Observation struct {
	wire.Seen
	Effects []history.Command // one for each key; none if they were not observed
	Unseen  []history.Command // the command itself, if its effects were not observed
	Stepped bool              // it changed the count of a lock that was held before and after
	// before and after are the names of the holders, by lock, if they have names of their own.
	Before, After map[string][]string
	Cmd           *wire.Command
}

// AnyOf reports whether is holds for one of a command's effects.
func AnyOf(effects []history.Command, is func(*history.Command) bool) bool {
	for i := range effects {
		if is(&effects[i]) {
			return true
		}
	}
	return false
}

func (c *Observation) Did(what func(*history.Command) bool) bool { return AnyOf(c.Effects, what) }

// Since returns a time relative to the start of the cell.
func (b *Bench) Since(t time.Time) history.Instant { return history.At(b.Cell.Start, t) }

// SentBy returns the commands that an instance has sent since the cell began, in order of arrival.
func (b *Bench) SentBy(at int) (all []Observation) {
	looker := b.Pair.Looker.Load()
	var commands []*wire.Command
	b.Pair.Gate.Each(func(cmd *wire.Command) {
		if cmd.Client.Index == at && !cmd.Sent.IsZero() && !cmd.Came.Before(b.Cell.Start) {
			commands = append(commands, cmd)
			all = append(all, Observation{Seen: cmd.Seen, Cmd: cmd})
		}
	})
	for i, cmd := range commands {
		if looker == nil || cmd.Message {
			continue
		}
		all[i].Before, all[i].After = looker.Holders(cmd)
		for _, c := range looker.Traced(cmd) {
			c.At, c.End = b.Since(all[i].Sent), b.Since(all[i].Answered)
			c.Wire.Came, c.Wire.Heard = b.Since(all[i].Came), b.Since(all[i].Delivered)
			shape := b.Shape(&all[i].Seen)
			c.Wire.Usual = b.Passport.Usual(shape)
			c.Wire.Granted = c.Reply != "" && c.Reply == b.Passport.Granted[shape]
			if c.Source != history.Looked {
				all[i].Unseen = append(all[i].Unseen, c)
				continue
			}
			c.Wire.Lease = b.Passport.LeaseOf(looker, cmd, &c)
			all[i].Effects = append(all[i].Effects, c)
			all[i].Stepped = all[i].Stepped || looker.Stepped(cmd, c.Key)
		}
	}
	slices.SortStableFunc(all, func(x, y Observation) int { return x.Came.Compare(y.Came) })
	return all
}

// executed returns when the server had executed a command, which may have blocked there, or when it was sent, if there
// was no answer.
func (c *Observation) executed() time.Time {
	if c.Answered.IsZero() {
		return c.Sent
	}
	return c.Answered
}

// AsExecuted sorts commands into the order in which the server executed them: those of several connections may overtake
// one another.
func AsExecuted(commands []Observation) []Observation {
	slices.SortStableFunc(commands, func(x, y Observation) int { return x.executed().Compare(y.executed()) })
	return commands
}

// ByOrder returns the commands of each order: those that its instance sent while it was open, or after it, before the
// next order. Under nil are those that several orders may have sent: they prove nothing about any.
func (b *Bench) ByOrder() map[*shop.Order][]Observation {
	record := map[*shop.Order][]Observation{}
	for at := range b.Pair.Ends {
		b.attribute(at, b.SentBy(at), record)
	}
	for o := range record {
		if o != nil {
			resolve(record[o])
		}
	}
	return record
}

// A lockEnd is an instant at which the trial, or the server, ended the lock of each order that held it.
type lockEnd struct {
	at  history.Instant
	why string // as in the reply of [history.EndedLock]
}

// assignEnds adds a note of each end to the orders that held the lock then, by what had been answered by then, and by
// the earlier ends: the next acquire shows that the lock had ended, not that it was held until then. The value of a
// lock may say that it is over; it is there all the same, or there would be nothing to end.
func (b *Bench) assignEnds(c *history.Cell) {
	for _, end := range b.ends {
		line := history.TimelineOf(until(c, end.at), history.Terms{TTL: c.TTL})
		for _, l := range line.Locks {
			if h := l.HolderAt(end.at); h.Known && h.Tenure != nil {
				op := &c.Ops[h.Tenure.Order]
				op.Trace = append(op.Trace, history.Command{Node: l.Node, Cmd: history.EndedLock, Key: l.Key, Reply: end.why,
					At: end.at, End: end.at, Source: history.Looked})
			}
		}
	}
}

// until returns a cell with the commands that had been answered by then, or that were sent by then and never answered.
func until(c *history.Cell, then history.Instant) *history.Cell {
	later := func(cmd history.Command) bool { return cmd.At > then || cmd.End > then && cmd.End.Known() }
	before := &history.Cell{Strays: slices.DeleteFunc(slices.Clone(c.Strays), later)}
	for i := range c.Ops {
		op := c.Ops[i]
		op.Trace = slices.DeleteFunc(slices.Clone(op.Trace), later)
		before.Ops = append(before.Ops, op)
	}
	return before
}

// traceOf returns commands in the form of a history.
func traceOf(commands []Observation) (trace []history.Command) {
	for _, c := range commands {
		trace = append(append(trace, c.Effects...), c.Unseen...)
	}
	return trace
}

// resolve clears the apparent effects of one order's commands on the lock. An order that undoes its own failed step of
// a counter has done nothing. A read of the lock by its holder, or after the write, is no try.
func resolve(commands []Observation) {
	takePlaces(commands)
	has, steps, wrote := map[string]bool{}, map[string]int{}, false
	for i := range commands {
		for j := range commands[i].Effects {
			e := &commands[i].Effects[j]
			switch e.Effect {
			case history.EffectTried:
				if commands[i].Stepped {
					steps[e.Key]++
				} else if has[e.Key] || wrote {
					e.Effect = history.EffectNothing
				}
			case history.EffectReleased:
				if steps[e.Key] > 0 {
					steps[e.Key]--
					e.Effect = history.EffectNothing
				} else {
					has[e.Key] = false
				}
			case history.EffectWrote:
				wrote = true
			default:
				has[e.Key] = has[e.Key] || e.Acquires() && e.Succeeded()
			}
		}
	}
}

// attribute adds the commands of an instance to those of their orders. Of those that no order sent it keeps, under nil,
// the ones that changed a lock or the stock.
func (b *Bench) attribute(at int, commands []Observation, record map[*shop.Order][]Observation) {
	a := &attribution{bench: b, at: at, record: record, tokens: map[string]*shop.Order{}, values: map[string]bool{},
		alone: map[*shop.Order]bool{}, sentLate: map[*shop.Order]map[sale.Kind]bool{}}
	for _, c := range commands {
		o, sent := a.orderOf(&c)
		if !sent && !c.Did(changes) {
			continue
		}
		for i := range c.Effects {
			if wire := c.Effects[i].Wire; wire != nil {
				wire.Background = !sent
			}
		}
		a.follow(&c, o)
		record[o] = append(record[o], c)
	}
	if !b.Passport.Early {
		b.moveReleases(at, record)
	}
}

// moveReleases moves a release that an order seems to have sent before it wrote the stock to an open order of its
// instance that had written, and seems to have sent none: it names the token of another, since they share a variable.
func (b *Bench) moveReleases(at int, record map[*shop.Order][]Observation) {
	releases := func(c Observation) bool { return c.Did((*history.Command).Releases) && !WritesStock(c) }
	for _, to := range b.Orders {
		wrote := slices.IndexFunc(record[to], WritesStock)
		if to.At != at || wrote < 0 || slices.ContainsFunc(record[to], releases) {
			continue
		}
		for _, from := range b.Orders {
			sent := record[from]
			i := slices.IndexFunc(sent, releases)
			if from == to || from.At != at || i < 0 || !slices.ContainsFunc(sent[i:], WritesStock) ||
				slices.ContainsFunc(sent[:i], WritesStock) || !to.IsOpen(sent[i].Came) ||
				sent[i].Came.Before(record[to][wrote].Came) {
				continue
			}
			record[to] = append(record[to], sent[i])
			slices.SortStableFunc(record[to], func(x, y Observation) int { return x.Came.Compare(y.Came) })
			record[from] = slices.Delete(slices.Clone(sent), i, i+1)
			break
		}
	}
}

// changes reports whether a command changed a lock or the stock.
func changes(c *history.Command) bool { return sale.Acquired(c) || isHolders(c) }

// isHolders reports whether a command does what no waiter does.
func isHolders(c *history.Command) bool {
	return c.WritesStock() || c.Prolongs() || c.Releases() || c.Names()
}

// An attribution assigns the commands of an instance to orders, one after the other.
type attribution struct {
	bench  *Bench
	at     int
	record map[*shop.Order][]Observation // of the orders so far
	tokens map[string]*shop.Order        // of the orders that have acquired the lock
	values map[string]bool               // digests of the lock's values that they set
	holder *shop.Order                   // the last to acquire the lock, if it was not released
	last   *shop.Order                   // the last to acquire the lock
	alone  map[*shop.Order]bool

	sentLate map[*shop.Order]map[sale.Kind]bool // the kinds of late commands that they have sent
}

// orderOf returns the order that a command belongs to, nil if that is unknown, and whether an order sent it rather than
// a background thread. The first rule that applies decides.
func (a *attribution) orderOf(c *Observation) (o *shop.Order, sent bool) {
	p, shape := a.bench.Passport, a.bench.Shape(&c.Seen)
	last, free, named := a.lastAt(c.Came), a.bench.onlyFree(a.at, c.Came), a.namedBy(c)
	renews := p.Renewals[shape]
	late, known := a.lateSender(c)
	switch {
	case known:
		return late, late != nil
	case last == nil: // no order was sent to the instance
		return nil, false
	case free != nil && !renews && !a.isOfNone(c, free): // the others wait
		return free, true
	case named != nil: // even after its end, such as a late renewal
		return named, true
	case a.isOfNone(c, last):
		return nil, false
	case renews && !p.Acquires[shape] && a.last != nil: // a waiter renews nothing
		return a.last, true
	case c.Did(isHolders) && a.holder != nil && a.holder.IsOpen(c.Came):
		return a.holder, true
	case !a.isAlone(last):
		return nil, true
	}
	unblocked, _ := a.bench.inFlight(a.at, c.Came)
	return a.oneOf(unblocked, last, c), true
}

// oneOf returns which of several free orders sent a command. One acquires after the other, so an acquire is that of the
// order without a lock so far that ended first, of those that sold if there are any. What is no acquire is the
// holder's. Anything else is the last order's.
func (a *attribution) oneOf(free []*shop.Order, last *shop.Order, c *Observation) *shop.Order {
	if len(free) < 2 {
		return last
	}
	if !c.Did(sale.Acquired) {
		if slices.Contains(free, a.holder) && !c.Did((*history.Command).Acquires) {
			return a.holder
		}
		return last
	}
	free = slices.DeleteFunc(free, func(o *shop.Order) bool { return !o.HasEnded() || !AcquiredAt(a.record[o]).IsZero() })
	if len(free) == 0 {
		return last
	}
	return slices.MinFunc(free, func(x, y *shop.Order) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), x.Over.Compare(y.Over))
	})
}

// lastAt returns the last order that was sent to the instance by then or, once that is over, the only one still open.
func (a *attribution) lastAt(then time.Time) *shop.Order {
	last := a.bench.openAt(a.at, then)
	if last == nil || last.IsOpen(then) || !isOver(last, a.record[last], then) {
		return last
	}
	if open := slices.Concat(a.bench.inFlight(a.at, then)); len(open) == 1 {
		return open[0]
	}
	return last
}

// isOfNone reports whether a command that names no order's token is a background thread's rather than this order's: the
// shop sends such commands while no order is at work; or it has such threads, and no sale has sent such a release; or
// the release names the value that it removes, which no order of its instance has set, and this one holds nothing.
func (a *attribution) isOfNone(c *Observation, o *shop.Order) bool {
	p, shape := a.bench.Passport, a.bench.Shape(&c.Seen)
	switch {
	case p.Background[shape]:
		return true
	case !c.Did((*history.Command).Releases):
		return false
	case len(p.Background) > 0 && p.Usual(shape) == history.EffectNothing:
		return true
	}
	return p.Token && a.holder != o && c.Did(func(cmd *history.Command) bool {
		return cmd.Releases() && cmd.Wire != nil && slices.Contains(cmd.Wire.Named, cmd.Wire.Was) && !a.values[cmd.Wire.Was]
	})
}

// watchBackground learns from the commands of an instance which it sends in the background: those that came between
// two times, while its only order waited for a held reply, more often than in a plain sale, which may contain one by
// chance. Renewals are the order's, and so are reads of a lock that is renewed.
func watchBackground(b *Bench, commands []Observation, from, to time.Time) {
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

// isAlone reports whether, when an order was sent, its instance no longer worked for a customer who had left.
func (a *attribution) isAlone(o *shop.Order) bool {
	if _, known := a.alone[o]; !known {
		a.alone[o] = a.bench.isAlone(o, a.record)
	}
	return a.alone[o]
}

// namedBy returns the order whose token a command names, nil if none. An acquire may name any value.
func (a *attribution) namedBy(c *Observation) *shop.Order {
	if c.Did((*history.Command).Acquires) || a.bench.Passport.Name {
		return nil
	}
	for _, arg := range c.Args {
		if owner := a.tokens[arg]; owner != nil {
			return owner
		}
	}
	return nil
}

// follow records that an order has acquired the lock, or that it was released.
func (a *attribution) follow(c *Observation, o *shop.Order) {
	if c.Did((*history.Command).Releases) {
		a.holder = nil
	}
	switch names := c.Did((*history.Command).Names); {
	case c.Did(sale.Acquired):
		a.last = o
		if c.Did((*history.Command).AcquiresAlone) { // else it may wait behind the holder
			a.holder = o
		}
	case !names || o != a.holder || len(c.Args) < 2:
		return
	}
	for i := range c.Effects {
		if e := &c.Effects[i]; sale.Acquired(e) || e.Names() {
			a.values[e.Gives()] = true
		}
	}
	p := a.bench.Passport
	for _, arg := range c.values() {
		if len(arg) >= leastToken && arg != a.bench.Pair.Shop.Shelf().Key && !p.OnLock(arg) && !p.IsPart(arg) {
			a.tokens[arg] = o
		}
	}
}

// openAt returns the last order that was sent to an instance by then, nil if none was.
func (b *Bench) openAt(at int, then time.Time) (last *shop.Order) {
	for _, o := range b.Orders {
		if o.At == at && !o.Sent.After(then) {
			last = o
		}
	}
	return last
}

// onlyFree returns the only order that can have sent a command at a time, since the others at its instance were
// blocked. It is nil if none was blocked, or several can have sent it.
func (b *Bench) onlyFree(at int, then time.Time) *shop.Order {
	free, blocked := b.inFlight(at, then)
	if len(blocked) == 0 || len(free) != 1 {
		return nil
	}
	return free[0]
}

// inFlight returns the orders that were in flight at an instance at a time: those that could send commands, and those
// that were blocked.
func (b *Bench) inFlight(at int, then time.Time) (free, blocked []*shop.Order) {
	for _, o := range b.Orders {
		switch {
		case o.At != at || o.Sent.After(then) || !o.IsOpen(then):
		case o.Blocked.Has(then):
			blocked = append(blocked, o)
		default:
			free = append(free, o)
		}
	}
	return free, blocked
}

// isAlone reports whether, when an order was sent, its instance no longer worked for a customer who had left.
func (b *Bench) isAlone(o *shop.Order, record map[*shop.Order][]Observation) bool {
	return !slices.ContainsFunc(b.Orders, func(other *shop.Order) bool {
		return other != o && other.At == o.At && other.Sent.Before(o.Sent) && other.HasEnded() && other.Left &&
			!isOver(other, record[other], o.Sent)
	})
}

// isOver reports whether an instance no longer worked at a time for an order whose customer had left: it had released
// the lock, or had never acquired it and sent nothing for the margin.
func isOver(o *shop.Order, commands []Observation, then time.Time) bool {
	last, took, released := o.Over, false, false
	for _, c := range commands {
		if c.Delivered.IsZero() || c.Delivered.After(then) {
			return false
		}
		last = Later(last, c.Delivered)
		if c.Did((*history.Command).Releases) {
			took, released = false, true
		}
		took = took || c.Did(sale.Acquired)
	}
	return !took && (released || then.Sub(last) >= sale.Margin)
}

// values returns the arguments after the key of a command, or after the keys of a script.
func (c *Observation) values() []string {
	from := 2
	if verb := strings.ToLower(c.Args[0]); strings.HasPrefix(verb, "eval") || strings.HasPrefix(verb, "fcall") {
		if len(c.Args) > 2 {
			keys, _ := strconv.Atoi(c.Args[2])
			from = 3 + min(max(0, keys), len(c.Args))
		}
	}
	return c.Args[min(from, len(c.Args)):]
}

// leastToken is the least length of a token, so that no other argument equals one by chance.
const leastToken = 8

// NewCell returns a cell of that name and line.
func NewCell(s *shop.Shop, p *sale.Passport, name, line string) *history.Cell {
	return &history.Cell{Kind: history.Trial, Scenario: name, Line: line, Rung: s.Name(), Product: s.Product,
		Repetition: 1, TTL: cmp.Or(p.TTL, p.InValue), Limit: p.Limit(), Facts: &p.Facts}
}

// Complete adds to the cell what its orders have left of the stock, then what ask has sent, its fresh orders, and then
// all recorded orders. Fresh orders buy from a new stock, and take no units of the cell's. The effects of a crowd's
// commands are not known. It returns the timeline of the cell.
func (b *Bench) Complete(crowd bool, ask func() (fresh []*shop.Order, err error)) (*history.Timeline, error) {
	c := b.Cell
	c.Elapsed = time.Since(c.Start)
	if err := b.readStock(); err != nil {
		return nil, fmt.Errorf("read the stock: %w", err)
	}
	writes, _, err := b.Writes()
	if err != nil {
		return nil, err
	}
	bought, over := slices.Clone(b.Orders), time.Now()
	fresh, err := ask()
	if err != nil {
		return nil, err
	}
	b.Pair.Quiet(b.Pair.Context)
	var record map[*shop.Order][]Observation
	if !crowd {
		record = b.ByOrder()
		if err := b.Pair.Looker.Load().Err(); err != nil {
			return nil, err
		}
	}
	b.noteDeaths()
	b.Orders = bought
	for _, o := range fresh {
		o.Fresh = true
		if !slices.Contains(bought, o) {
			b.Orders = append(b.Orders, o)
		}
	}
	var units map[*shop.Order][]int64
	if crowd {
		units = b.unitsOfCrowd(writes)
	} else {
		units = b.unitsOf(writes, record)
	}
	if b.Passport.ByWrites {
		b.judgeByWrites(units)
	}
	if len(b.Extra) > 0 {
		c.Instances = slices.Insert(c.Instances, 0, history.Instance{Name: cause.Us})
	}
	for i := range c.Instances { // all times are by the trial's clock
		c.Instances[i].Clock, c.Instances[i].Offsets = "loadtest", make([]history.Offset, 2)
	}
	b.addOps(c, record, units, !crowd, over)
	b.assignEnds(c)
	c.Ops = append(c.Ops, b.Extra...)
	line := history.TimelineOf(c, history.TermsOnTrial(c))
	if len(b.Passport.Locks) > 0 {
		for i := range b.Orders {
			c.Ops[i].Lease = line.LeaseOf(i)
		}
	}
	if !crowd {
		c.Requests = b.requestsToDatabase(record)
	}
	return line, nil
}

// addOps adds the orders to a cell. If a command that may be several orders', or none's, wrote the stock before the
// fresh orders, it is unknown which order has sold.
func (b *Bench) addOps(
	c *history.Cell, record map[*shop.Order][]Observation, units map[*shop.Order][]int64, looked bool, fresh time.Time,
) {
	unsure := slices.ContainsFunc(record[nil], func(c Observation) bool { return WritesStock(c) && c.Came.Before(fresh) })
	for _, o := range b.Orders {
		op := b.op(o, record[o], units[o], looked && !unsure)
		if unsure && o.Op.Phase == history.Buy && op.Outcome == history.Sold && len(op.Units) == 0 {
			op.Outcome, op.Detail = history.Unknown, "it is unknown which order wrote the stock; "+op.Detail
		}
		c.Ops = append(c.Ops, op)
	}
	c.Strays = traceOf(record[nil])
}

// op returns an order's record. Its writes decide whether an order without an answer has sold.
func (b *Bench) op(o *shop.Order, commands []Observation, units []int64, looked bool) history.Op {
	op := o.Op
	op.Instance, op.Sent, op.Done = b.Pair.Ends[o.At].Name, b.Since(o.Sent), history.Never
	op.Due = op.Sent
	if o.Op.Phase == history.Probe {
		op.Quantity = 0
	}
	if o.Fresh { // also Bert's, if it was sent after Anna's
		op.Phase = history.Probe
	}
	if !o.Over.IsZero() {
		op.Latency = o.Over.Sub(o.Sent)
	}
	switch {
	case !o.Ended.IsZero():
		op.Done = b.Since(o.Ended)
	case o.Waited:
		op.GaveUp = history.TimedOut
	case o.Left:
		op.GaveUp = history.HungUp
	}
	op.Trace = traceOf(commands)
	wrote := AnyOf(op.Trace, func(c *history.Command) bool { return c.WritesStock() && c.Wrote() })
	switch {
	case op.Outcome != history.Unknown:
	case looked && !wrote && !b.Pair.Shop.IsElsewhere():
		op.Outcome, op.Detail = history.NotSold, "no write of the stock was sent; "+op.Detail
	case b.sentNothing(o):
		op.Outcome, op.Detail = history.NotSold, "nothing was sent to the database; "+op.Detail
	}
	if op.Outcome == history.Sold || op.Outcome == history.Unknown {
		op.Units = units
	}
	return op
}

// judgeByWrites refuses the orders that took no unit, although their answers look like sales.
func (b *Bench) judgeByWrites(units map[*shop.Order][]int64) {
	for _, o := range b.Orders {
		took := len(units[o]) > 0
		if o.Fresh {
			took = b.HasSold(o)
		}
		if o.HasEnded() && o.Op.Outcome == history.Sold && !took {
			o.Op.Outcome, o.Op.Detail = history.Busy, "it took no unit; "+o.Op.Detail
		}
	}
}

func WritesStock(c Observation) bool { return c.Did((*history.Command).WritesStock) }

func Later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// A soldUnit is a unit that a write took.
type soldUnit struct {
	at   time.Time
	unit int64
}

// A Written is a write of the stock by an instance.
type Written struct {
	wire.StockWrite
	Instance int // the number of the instance
}

// Writes returns the writes of the stock in the cell, without the trial's own, and all written keys, each with the time
// of its first write.
func (b *Bench) Writes() (own []Written, keys map[wire.Key]time.Time, err error) {
	all, keys, err := b.Pair.Ledger.Writes(b.Pair.Context)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range all[b.before:] {
		if at := slices.IndexFunc(b.Pair.Ends, func(e *rig.End) bool { return e.Wires[0].Owns(w.From) }); at >= 0 {
			own = append(own, Written{w, at})
		}
	}
	return own, keys, nil
}

// unitsOf returns the units that each order took, by the writes of the stock as the Redis executed them: one that
// leaves n units took unit n+1. An order that writes the same number again has taken nothing more, and one that puts
// back what it took has taken nothing.
func (b *Bench) unitsOf(writes []Written, record map[*shop.Order][]Observation) map[*shop.Order][]int64 {
	units := map[*shop.Order][]int64{}
	for _, w := range writes {
		o := b.writerOf(w, record)
		if o == nil {
			continue
		}
		had := units[o]
		switch n := len(had); {
		case w.IsBack() || !w.Counts && n > 0 && w.After >= had[n-1]:
			units[o] = had[:max(0, n-1)]
		case !w.Counts && n > 0 && w.After+1 == had[n-1]: // it was sent again
		default:
			units[o] = append(had, w.After+1)
		}
	}
	return units
}

// unitsOfCrowd does the same for a crowd. A write belongs to an order of its instance that was open at the time and
// sold; of several, to the one answered first. If the stock never grew, a write may have taken several units, for
// several orders. One that took more units than there are orders is no batch of sales, and counts as one.
func (b *Bench) unitsOfCrowd(writes []Written) map[*shop.Order][]int64 {
	units := map[*shop.Order][]int64{}
	var takes [2][]soldUnit
	batches := !slices.ContainsFunc(writes, func(w Written) bool { return w.After > w.Before })
	for _, w := range writes {
		own := takes[w.Instance]
		if w.IsBack() {
			takes[w.Instance] = own[:max(0, len(own)-1)]
			continue
		}
		took := uint64(1)
		if batches && uint64(w.Before-w.After) <= uint64(len(b.Orders)) { // unsigned, the difference cannot overflow
			took = uint64(w.Before - w.After)
		}
		for i := range took {
			takes[w.Instance] = append(takes[w.Instance], soldUnit{at: w.At, unit: w.After + 1 + int64(i)})
		}
	}
	for at := range takes {
		b.match(takes[at], at, units)
	}
	return units
}

// IsBack reports whether a write put units back.
func (w *Written) IsBack() bool { return w.Counts && w.After > w.Before }

// writerOf returns the order that a write of the stock belongs to: the one whose command was in flight then.
func (b *Bench) writerOf(w Written, record map[*shop.Order][]Observation) *shop.Order {
	for _, o := range b.Orders {
		for _, c := range record[o] {
			if o.At == w.Instance && WritesStock(c) && !w.At.Before(c.Sent.Add(-time.Millisecond)) &&
				(c.Answered.IsZero() || !w.At.After(c.Answered.Add(time.Millisecond))) {
				return o
			}
		}
	}
	return nil
}

// match assigns the units that an instance's crowd took to its orders.
func (b *Bench) match(takes []soldUnit, at int, units map[*shop.Order][]int64) {
	var orders []*shop.Order
	for _, o := range b.Orders {
		if o.At == at && o.Op.Outcome != history.Busy && o.Op.Outcome != history.NotSold {
			orders = append(orders, o)
		}
	}
	slices.SortStableFunc(orders, func(x, y *shop.Order) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), x.Ended.Compare(y.Ended))
	})
	for _, one := range takes {
		for _, o := range orders {
			accepted := o.Op.Status == http.StatusAccepted // its unit may be taken after the answer
			isOpen := accepted || (o.Ended.IsZero() || !o.Ended.Before(one.at))
			if len(units[o]) == 0 && !o.Sent.After(one.at) && isOpen {
				units[o] = []int64{one.unit}
				break
			}
		}
	}
}

// rank orders those that sold before those with an unknown outcome.
func rank(o *shop.Order) int {
	if o.Op.Outcome == history.Sold {
		return 0
	}
	return 1
}
