package trial

import (
	"cmp"
	"context"
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
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A playedLine is a line that is played on a bench: it tells the rig's player what the marks and the words of a line
// mean for this shop. docs/explore.md has the notation.
type playedLine struct {
	bench    *record.Bench
	player   *rig.Player
	taken    shop.Span              // when the trial itself took the lock; zero: it has not
	letLocks func()                 // ends the renewals of that lock
	lapsed   bool                   // a lease has passed
	atOnce   bool                   // the server expires a lock that it can, rather than that the lease is waited for
	sleeps   map[*rig.InFlight]bool // orders whose clients wait for timers of their own
	lost     time.Time              // since when orders that were held under their locks may have lost these
}

// people holds the names of the customers, in the order of the letters of a line.
var people = [...]string{"Anna", "Bert", "Clara"}

func nameOf(who int) string { return strings.ToLower(people[who]) }

// playLine returns the function that plays a line. It returns why the fault did not happen, "" if it did.
func playLine(line schedule.Line) func(*record.Bench) string {
	if n := line.Crowd(); n > 0 {
		return crowdAt(n)
	}
	return func(b *record.Bench) string {
		p := newPlayedLine(b)
		var err error
		for i := 0; i < len(line) && err == nil; i++ {
			since := time.Now()
			err = p.player.Move(b.Pair.Context, line[i])
			if line[i].Verb == "" {
				block(p.bench, p.player.Scene(line[i].Who).Held, since)
			}
		}
		if over := p.player.Finish(); err == nil {
			err = over
		}
		p.finish()
		if err != nil {
			return err.Error()
		}
		return ""
	}
}

func newPlayedLine(b *record.Bench) *playedLine {
	p := &playedLine{bench: b, sleeps: map[*rig.InFlight]bool{}}
	p.player = &rig.Player{Rig: b.Pair.Rig, User: p, Marks: p, Turns: p}
	return p
}

// Send implements [rig.User].
func (p *playedLine) Send(_ context.Context, m schedule.Move, s rig.Scene, reached <-chan struct{}) *rig.InFlight {
	switch {
	case s.Order != nil && p.bench.HasSold(p.bench.OrderOf(s.Order)):
		return s.Order
	case s.Open && reached != nil:
		return p.bench.BertUntil(nameOf(m.Who), m.At, p.AtMost(m, s), reached).InFlight
	}
	return p.bench.Send(p.bench.NextOf(nameOf(m.Who)), m.At).InFlight
}

// Sell implements [rig.Marks]. If another order is held, all calls together take at most a lease and the margin. If the
// database makes an order wait for the held one, it gives up: a count that balances then proves nothing.
func (p *playedLine) Sell(_ context.Context, m schedule.Move, s rig.Scene) *rig.InFlight {
	if !s.Open && s.Came == 0 {
		if own, _ := sellAt(p.bench, m.At, nameOf(m.Who), history.Buy, p.lastEnd()); len(own) > 0 {
			return own[len(own)-1].InFlight
		}
		return nil
	}
	around := p.scene(s)
	around.Again = true
	atMost := p.bench.Passport.Deadline(m, around)
	late := time.Now().Add(atMost)
	if o := p.bench.OrderOf(s.Order); o != nil {
		if o.WaitFor(atMost); !o.HasEnded() || p.bench.HasSold(o) {
			return s.Order
		}
	}
	over := make(chan struct{})
	defer close(over)
	waits := p.waitsForDatabase(m.At, over)
	o := p.bench.BertUntil(nameOf(m.Who), m.At, time.Until(late), waits)
	if p.bench.Cell.Count != nil && waits != nil && wire.IsClosed(waits) && !o.HasEnded() {
		p.bench.Cell.Count.Kept = true
	}
	return o.InFlight
}

// Catch implements [rig.Marks].
func (p *playedLine) Catch(m schedule.Move, s rig.Scene) rig.Trap {
	m = p.atWork(m)
	if m.Request() > 0 {
		d := p.bench.Pair.Rig.Ends[m.At].Database
		if d == nil {
			return nil
		}
		order := d.NextOrder()
		if s.Order != nil {
			order = p.bench.OrderOf(s.Order).InDatabase
		}
		return d.Trap(order, m.Request(), m.Reply)
	}
	t := p.trapAt(m, s)
	if m.Mark == schedule.Read && p.bench.Pair.Rig.Ends[m.At].Database != nil {
		return p.bench.SetWorkTrap(t)
	}
	return p.bench.Pair.Rig.SetTrap(t)
}

// trapAt returns the trap for a command at a mark.
func (p *playedLine) trapAt(m schedule.Move, s rig.Scene) *rig.CommandTrap {
	of := p.bench.Passport
	t := &rig.CommandTrap{}
	switch m.Mark {
	case schedule.Acquire, schedule.Acquired:
		t.Is = hasShape(p.bench, of.Acquires)
		if m.Mark == schedule.Acquire && p.scene(s).Under { // an order that looks first sends no acquire then
			t.Is = hasShape(p.bench, of.Acquires, of.Tries)
		}
		if m.Mark == schedule.Acquired {
			t.Did = did(p.bench, sale.Acquired)
		}
	case schedule.Read:
		since := time.Now()
		if s.Bound {
			since = s.Order.Sent
		}
		t = p.bench.ReplyOf(m.At, of.BeforeWrite(), since)
	case schedule.Write:
		t.Is = hasShape(p.bench, of.Writes) // a script of this shape may only read
		t.Did = did(p.bench, func(c *history.Command) bool { return c.WritesStock() && !c.Refused() })
	case schedule.Release, schedule.Release2:
		number := strings.Count(m.Mark, "2")
		t.Is = afterWrite(p.bench, isStep(p.bench, of.AfterWrite(), number))
	case schedule.Subscribe:
		t.Is = func(cmd *wire.Command) bool { return cmd.Subscribes }
	default:
		k, _ := strconv.Atoi(m.Mark)
		t.Is = isStep(p.bench, of.Steps, of.Ahead+k-1)
	}
	t.At, t.Reply = m.At, m.Reply
	return t
}

// setup are commands by which a client prepares its connection, or its scripts.
var setup = []string{"hello", "auth", "select", "client", "ping", "script", "command", "function", "info", "echo",
	"quit"}

// IsStep implements [rig.Turns]. No steps are commands without a key, what the shop sends in the background, renewals,
// the second try of a script that the server did not know, and what may block at the server. A message to a waiter is
// a step.
func (p *playedLine) IsStep(cmd *wire.Command) bool {
	shape := p.bench.Shape(&cmd.Seen)
	switch {
	case cmd.Message:
		return true
	case cmd.On() == "" && len(cmd.Queued) == 0, slices.Contains(setup, cmd.Name), p.bench.Passport.Background[shape],
		p.bench.Passport.Renewals[shape] && !p.bench.Passport.Acquires[shape], cmd.Blocks:
		return false
	}
	return !isResent(p.bench, cmd)
}

// Waits implements [rig.Turns].
func (p *playedLine) Waits(of *rig.InFlight) bool {
	return p.sleeps[of] || p.bench.WaitsForLock(p.bench.OrderOf(of))
}

// IsDue implements [rig.Turns].
func (p *playedLine) IsDue(of *rig.InFlight) bool {
	return time.Now().Before(p.bench.LastLate(p.bench.OrderOf(of)))
}

// isResent reports whether a command is a script in full, since the server did not know its digest.
func isResent(b *record.Bench, cmd *wire.Command) bool {
	if len(cmd.Args) < 2 || !strings.EqualFold(cmd.Args[0], "eval") {
		return false
	}
	resent := false
	b.Pair.Rig.Gate.Each(func(before *wire.Command) {
		if before.Client == cmd.Client && before.Failed && strings.HasPrefix(before.Reply, "NOSCRIPT") &&
			sale.Digest(before.Args) == sale.Digest(cmd.Args) {
			resent = true
		}
	})
	return resent
}

// did returns a match for commands that were carried out with such an effect.
func did(b *record.Bench, what func(*history.Command) bool) func(*wire.Command) bool {
	return func(cmd *wire.Command) bool { return record.AnyOf(b.Pair.Looker.Load().Traced(cmd), what) }
}

// Name implements [rig.Marks].
func (p *playedLine) Name(m schedule.Move, t rig.Trap) (name string, reply bool) {
	of := &p.bench.Passport.ToDatabase
	switch m = p.atWork(m); {
	case m.Request() > 0:
		return fmt.Sprintf("request %d of %d to the database", m.Request(), max(m.Request(), of.All)), m.Reply
	case m.Mark == schedule.Next:
		return p.nameOfStep(t.(*rig.CommandTrap).Command()), false
	case m.Mark == schedule.Acquired:
		return schedule.Acquire, true
	case m.Mark == schedule.Release2:
		return schedule.Release, m.Reply
	}
	if work, is := t.(*record.WorkTrap); is && work.Request != nil {
		return fmt.Sprintf("request %d to the database", work.Request.Number()), false
	}
	if k, err := strconv.Atoi(m.Mark); err == nil {
		return fmt.Sprintf("command %d", k), m.Reply
	}
	return m.Mark, m.Reply
}

// nameOfStep returns what a fault calls a command.
func (p *playedLine) nameOfStep(cmd *wire.Command) string {
	switch shape := p.bench.Shape(&cmd.Seen); {
	case p.bench.Passport.Writes[shape]:
		return schedule.Write
	case p.bench.Passport.Acquires[shape]:
		return schedule.Acquire
	case p.bench.Passport.Releases[shape]:
		return schedule.Release
	}
	return strings.ToUpper(cmd.Name)
}

// AtMost implements [rig.Marks].
func (p *playedLine) AtMost(m schedule.Move, s rig.Scene) time.Duration {
	return p.bench.Passport.Deadline(p.atWork(m), p.scene(s))
}

// Rest implements [rig.Marks].
func (p *playedLine) Rest(_ context.Context, of *rig.InFlight) {
	if o := p.bench.OrderOf(of); o.HasEnded() && o.Left {
		settle(p.bench, o)
	}
}

// Stuck implements [rig.Marks].
func (p *playedLine) Stuck(m schedule.Move, s rig.Scene, t rig.Trap) error {
	var why string
	switch m = p.atWork(m); {
	case m.Verb == "drop":
		why = sale.Either(rig.HasCaught(t), "", "no order waited for a message")
	case m.Mark+m.Verb == "":
		why = p.absent(m, s)
	case m.Mark == schedule.Waits:
		why = p.answeredAtOnce(m, s)
	case m.Mark == schedule.Next, m.Verb != "":
		ended := s.Order != nil && s.Order.HasEnded()
		why = people[m.Who] + " sent no further command" + sale.Either(ended, ": the order is over", "")
	case t == nil:
		why = p.bench.Passport.ToDatabase.Why
	case rig.HasCaught(t):
		why = p.misplaced(m)
	default:
		why = p.unreached(m, s, t)
	}
	if why == "" {
		return nil
	}
	return errors.New(why)
}

// answeredAtOnce returns why an order that should wait for the lock has ended, "" if it has not.
func (p *playedLine) answeredAtOnce(m schedule.Move, s rig.Scene) string {
	switch of := p.bench.Passport; {
	case !s.Order.HasEnded():
		return ""
	case of.Lead > of.Lease() && len(of.Locks) > 0:
		return fmt.Sprintf("the lease was over before %s tried to acquire the lock: orders take %s until then",
			people[m.Who], rig.Shortly(of.Lead))
	}
	return people[m.Who] + " was answered at once: orders do not wait"
}

// absent returns why a customer who should have found the lock taken did not come, "" if one may have: an order may be
// kept waiting within its instance, but one that takes its time before it asks for the lock has not done so yet.
func (p *playedLine) absent(m schedule.Move, s rig.Scene) string {
	of := p.bench.Passport
	tried := p.bench.Shown().When(m.At, (*history.Command).Acquires)
	if len(of.Locks) == 0 || of.Lead < of.Moment() || s.Order.HasEnded() ||
		record.FirstAfter(p.bench.Since(s.Order.Sent), tried).Known() {
		return ""
	}
	return fmt.Sprintf("%s did not try to acquire the lock within %s: orders take %s until then", people[m.Who],
		rig.Shortly(p.AtMost(m, s)), rig.Shortly(of.Lead))
}

// unreached returns why an order did not reach a mark.
func (p *playedLine) unreached(m schedule.Move, s rig.Scene, t rig.Trap) string {
	who := people[m.Who]
	work, atWork := t.(*record.WorkTrap)
	name, _ := p.Name(m, t)
	switch around := p.scene(s); {
	case m.Request() > 0:
		return fmt.Sprintf("%s did not reach request %d to the database", who, m.Request())
	case atWork && rig.HasCaught(work.Reply):
		return record.NoRequest
	case !s.Open:
		return "the order ended without sending the command at which the fault was due"
	case m.Mark == schedule.Read && !around.Under:
		why := whyKept(p.bench.Passport, m.At == p.instanceOfHeld())
		return fmt.Sprintf("%s did not acquire the lock while another order was held: %s", who, why)
	}
	return fmt.Sprintf("%s did not reach the %s while another order was held", who, name)
}

// Pass implements [rig.User].
func (p *playedLine) Pass(ctx context.Context, m schedule.Move) error {
	now := time.Now()
	switch m.Verb {
	case "expiry":
		return p.expire(ctx)
	case "remove":
		return p.removeLock()
	case "take":
		stop, err := p.bench.KeepLocks(p.bench.Passport.Held)
		p.taken, p.letLocks = shop.Span{From: now, To: time.Now()}, stop
		return err
	}
	p.Note(p.instanceOfHeld(), nil, rig.RestartFault(), now)
	p.bench.NoteEnds(now, history.LocksLost)
	p.lost = time.Now()
	return restart(p.bench)
}

// Note implements [rig.User]. That an order was held is a fault only if there is no other one so far; a further hold of
// the same order lengthens the first.
func (p *playedLine) Note(at int, of *rig.InFlight, f history.Fault, since time.Time) {
	faults := p.bench.Cell.Faults
	if of == nil {
		of = p.bench.OrderAt(at).InFlight
	}
	if f.Kind == history.FaultHeld && len(faults) > 0 {
		if first := &faults[0]; len(faults) == 1 && first.Kind == history.FaultHeld && first.Order == of.Op.Order {
			first.Text, first.End = first.Text+", "+f.Text, p.bench.Since(time.Now())
		}
		return
	}
	of.Note(p.bench.Cell, f, since, time.Now())
}

// hasShape returns a match for commands of these shapes.
func hasShape(b *record.Bench, of ...sale.Shapes) func(*wire.Command) bool {
	return func(cmd *wire.Command) bool {
		shape := b.Shape(&cmd.Seen)
		return slices.ContainsFunc(of, func(one sale.Shapes) bool { return one[shape] })
	}
}

// afterWrite returns a match for such commands after a write of the stock, or after an acquire if writes are not
// observed.
func afterWrite(b *record.Bench, is func(*wire.Command) bool) func(*wire.Command) bool {
	works := b.Passport.Writes
	if b.Passport.Elsewhere {
		works = b.Passport.Acquires
	}
	wrote := false
	return func(cmd *wire.Command) bool {
		if wrote {
			return is(cmd)
		}
		wrote = works[b.Shape(&cmd.Seen)]
		return false
	}
}

// scene returns what decides how long a move may take.
func (p *playedLine) scene(s rig.Scene) sale.Scene {
	around := sale.Scene{Sent: s.Order != nil && !s.Order.HasEnded(), Open: s.Open, Lapsed: p.lapsed,
		Left: sale.Forever, Held: len(s.Held) + s.Late, Came: s.Came}
	for _, h := range s.Held {
		around.Under = around.Under || isUnder(h) && !h.Since.Before(p.lost) && !h.Order.HasEnded()
		if isAwaited(h) && p.player.Works(h.Order.At) {
			most := p.bench.Passport.LongestHold()
			if h.Name == schedule.Acquire {
				most = p.bench.Passport.LongestAcquireHold()
			}
			around.Left = min(around.Left, most-time.Since(h.Since))
		}
	}
	return around
}

// isUnder reports whether an order is held while it holds the lock.
func isUnder(h *rig.Held) bool { return h.Reply || !isCommand(h) }

func isCommand(h *rig.Held) bool {
	_, is := h.Trap.(*rig.CommandTrap)
	return is
}

// isAwaited reports whether a client waits for what is held. One that gives up on a release does not count: that is a
// result, too.
func isAwaited(h *rig.Held) bool { return isCommand(h) && (h.Name != schedule.Release || h.Reply) }

// block records that held orders have sent nothing since a time, unless they were held before a command.
func block(b *record.Bench, held []*rig.Held, since time.Time) {
	for _, h := range held {
		if o := b.OrderOf(h.Order); isUnder(h) {
			if o.Blocked.From.IsZero() {
				o.Blocked.From = since
			}
			o.Blocked.To = time.Now()
		}
	}
}

// lastEnd returns when the last order ended, or now if there was none.
func (p *playedLine) lastEnd() (end time.Time) {
	for _, of := range p.player.Orders() {
		end = record.Later(end, p.bench.WorkedUntil(p.bench.OrderOf(of)))
	}
	if end.IsZero() {
		return time.Now()
	}
	return end
}

// held returns what is held of all orders.
func (p *playedLine) held() []*rig.Held { return p.player.Scene(-1).Held }

// instanceOfHeld returns the instance of a held order, or else a.
func (p *playedLine) instanceOfHeld() (at int) {
	for _, h := range p.held() {
		at = h.Order.At
	}
	return at
}

// expire waits until the lease of a held order expires. If its client would give up on a release first, the trial
// removes the lock instead.
func (p *playedLine) expire(ctx context.Context) (err error) {
	if p.atOnce && p.bench.CanExpire() {
		p.lapsed = true
		p.bench.NoteEnds(time.Now(), history.LeaseOver)
		err, p.lost = p.bench.Expire(), time.Now()
		return err
	}
	waits := true
	for _, h := range p.held() {
		if why := aLongReply(p.bench.Passport); why != "" && p.player.Works(h.Order.At) && isCommand(h) {
			if waits = false; h.Name != schedule.Release {
				err = errors.New(why)
			}
		}
	}
	if p.lapsed = waits; waits {
		p.player.Sleep(ctx, p.bench.Passport.Expiry(p.player.Scene(-1).Late > 0))
	} else if err == nil {
		p.bench.NoteEnds(time.Now(), history.LeaseOver)
		err = p.bench.Remove()
	}
	p.lost = time.Now()
	return err
}

// removeLock removes the lock, or releases the trial's own.
func (p *playedLine) removeLock() error {
	if !p.taken.From.IsZero() {
		return p.giveBack()
	}
	since := time.Now()
	p.bench.NoteEnds(since, history.LockRemoved)
	err := p.bench.Remove()
	p.Note(p.instanceOfHeld(), nil, rig.LockFault(), since)
	p.lost = time.Now()
	return err
}

// giveBack releases the trial's own lock, and records its tenure. No order may have acquired the lock.
func (p *playedLine) giveBack() error {
	var kept error
	for _, o := range p.bench.Orders {
		if p.bench.TookFor(o).Known() {
			kept = errors.New(whyNotKept(p.bench.Passport))
		}
	}
	since, taken, freed := p.bench.Since(p.taken.From), p.bench.Since(p.taken.To), time.Now()
	p.taken = shop.Span{}
	p.letLocks()
	if err := cmp.Or(p.bench.Remove(), kept); err != nil {
		return err
	}
	ours := history.Op{Order: p.bench.Pair.Shop.Product + "-" + history.OfTrial, Phase: history.Buy, Instance: cause.Us,
		Outcome: history.NotSold,
		Detail:  "the trial itself, which kept the lock", Sent: since, Done: p.bench.Since(freed),
		Lease: &history.Lease{AcquiredAt: taken, ReleasedAt: p.bench.Since(freed)}}
	for _, key := range p.bench.Passport.Locks {
		ours.Trace = append(ours.Trace,
			history.Command{Node: p.bench.Pair.Rig.Stores[0].Host, Cmd: "restore", Key: key, Reply: "OK", At: since, End: taken,
				Source: history.Looked, Effect: history.EffectAcquired | history.Endless},
			history.Command{Node: p.bench.Pair.Rig.Stores[0].Host, Cmd: "del", Key: key, Reply: "1", At: p.bench.Since(freed),
				End: p.bench.Since(time.Now()), Source: history.Looked, Effect: history.EffectReleased})
	}
	p.bench.Extra = append(p.bench.Extra, ours)
	at := shop.AtA
	if len(p.bench.Orders) > 0 {
		at = p.bench.Orders[0].At
	}
	p.Note(at, nil, rig.TakenFault(), p.bench.Cell.Start.Add(time.Duration(taken)))
	return nil
}

// finish ends what the trial itself has begun in a line.
func (p *playedLine) finish() {
	if !p.taken.From.IsZero() {
		p.letLocks()
		_ = p.bench.Remove()
	}
	p.endLongLeases()
}

// endLongLeases expires the leases of a killed instance that are too long to wait for.
func (p *playedLine) endLongLeases() {
	down := p.bench.Pair.IsDown(shop.AtA) || p.bench.Pair.IsDown(shop.AtB)
	if p.bench.Passport.Lease() > sale.MostLease && p.lockEnds() && down {
		p.bench.NoteEnds(time.Now(), history.LeaseOver)
		_ = p.bench.Remove()
	}
}

// lockEnds reports whether the lock is held, and ends by itself.
func (p *playedLine) lockEnds() bool {
	state := p.bench.Pair.Looker.Load().Look()
	return slices.ContainsFunc(p.bench.Passport.Keys, func(l wire.Lock) bool {
		s := state[l.Key]
		return l.Held(s) && !s.Ends.IsZero()
	})
}

// needsOf returns the requirements of a line.
func needsOf(line schedule.Line) (needs []requirement) {
	for _, m := range line {
		if n := m.Request(); n > 0 {
			needs = append(needs, requirement{why: func(p *sale.Passport) string {
				return cmp.Or(p.ToDatabase.Why, sale.Either(n <= p.ToDatabase.All, "", p.ToDatabase.String()))
			}})
		} else if n, err := strconv.Atoi(m.Mark); err == nil {
			needs = append(needs, requirement{why: func(p *sale.Passport) string {
				return sale.Either(n <= len(p.Numbered()), "", fmt.Sprintf("a sale has %d commands", len(p.Numbered())))
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
