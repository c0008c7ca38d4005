package trial

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// play plays a cell: the fault, then a fresh order at each instance that is up.
func (t *Trial) play(b *record.Bench, f fault) (*history.Cell, error) {
	b.Begin(f.name, f.line)
	crowd := f.parsed().Crowd()
	b.Cell.Initial = cmp.Or(f.units, b.Pair.Shop.UnitsFor(crowd))
	if err := errors.Join(b.Pair.Put(b.Cell.Initial), b.BeginCount()); err != nil {
		return nil, err
	}
	if b.Cell.Count != nil {
		b.Cell.Count.Unbalanced = t.unbalanced
	}
	if f.play == nil {
		f.play = playLine(f.parsed())
	}
	why := f.play(b)
	if err := end(b); err != nil {
		return nil, err
	}
	return t.judge(b, why, crowd > 0, func() ([]*shop.Order, error) { return fresh(b) })
}

// end clears all faults, and waits until all orders have ended and the instances are quiet.
func end(b *record.Bench) error {
	heal(b)
	if b.Pair.Context.Err() != nil {
		return context.Cause(b.Pair.Context)
	}
	for _, o := range b.Orders {
		<-o.Done()
	}
	b.Pair.Rig.Quiet(b.Pair.Context)
	return nil
}

// judge completes a cell whose orders have ended, and judges it. Why is why its fault did not happen, "" if it did; ask
// sends its fresh orders.
func (t *Trial) judge(
	b *record.Bench, why string, crowd bool, ask func() ([]*shop.Order, error),
) (*history.Cell, error) {
	line, err := b.Complete(crowd, ask)
	if err != nil {
		return nil, err
	}
	cell := b.Cell
	away, longest := t.stalls.Since(cell.Start)
	cell.Client = &history.Client{Asked: len(cell.Ops), Delivered: len(cell.Ops), Loop: "closed", Away: away,
		Longest: longest}
	if crowd && b.Pair.Shop.Order.IsProgram() {
		n := overlapped(b.Orders, b.Passport.Lead)
		cell.Client.Overlapped, why = &n, cmp.Or(why, sale.Either(n == 0, "no two of the programs overlapped", ""))
	}
	cell.Findings, cell.Coverage = audit.Judge(cell, line)
	if cell.Aborted = why; why == "" && cell.Count != nil && cell.Count.Kept {
		cell.Aborted = history.KeptByDatabase
	}
	cause.Explain(cell, line)
	return cell, nil
}

// overlapped counts the orders of a crowd that were in flight at the same time as another one, after the time that an
// order takes before it asks for the lock.
func overlapped(orders []*shop.Order, lead time.Duration) (n int) {
	works := func(o *shop.Order) shop.Span { return shop.Span{From: o.Sent.Add(lead), To: o.Over} }
	for _, o := range orders {
		if o.Op.Phase == history.Buy && slices.ContainsFunc(orders, func(other *shop.Order) bool {
			own, its := works(o), works(other)
			return other != o && other.Op.Phase == history.Buy && own.From.Before(its.To) && its.From.Before(own.To)
		}) {
			n++
		}
	}
	return n
}

// heal clears all faults.
func heal(b *record.Bench) {
	b.Pair.Rig.GoOnAll()
	for at := range b.Pair.Rig.Ends {
		b.Pair.Rig.Rejoin(b.Pair.Rig.Ends[at])
		_ = b.Pair.Rig.Ends[at].In.Continue()
	}
}

// endOf returns when an order ended: at its answer or, if its customer had left, when its instance released the lock.
func endOf(o *shop.Order, commands []record.Observation) (end time.Time) {
	end = o.Over
	for _, d := range record.EffectsOf(commands) {
		if o.Left && d.Releases() {
			end = record.Later(end, d.Sent)
		}
	}
	return end
}

// fresh sends orders to each instance that is up, until one sells. It returns those of an instance where none got
// through in time, or all; or one of the cell's, if that was kept waiting already. It restocks before, so that an order
// that gets through sells.
func fresh(b *record.Bench) (probes []*shop.Order, err error) {
	over := overOf(b, time.Now())
	if kept := keptWaiting(b, over); kept != nil {
		return kept, nil
	}
	probes = eachInTurn(over, func(at int, since time.Time) (own []*shop.Order, stuck bool) {
		err = errors.Join(err, b.Pair.Put(b.Pair.Shop.UnitsFor(0)))
		return freshAt(b, at, since)
	})
	b.Pair.Rig.Quiet(b.Pair.Context)
	return probes, errors.Join(err, context.Cause(b.Pair.Context))
}

// overOf returns when the order ended that the first fault hit. If there is none it returns the other time.
func overOf(b *record.Bench, other time.Time) time.Time {
	switch o := b.Hit(); {
	case o == nil:
		return other
	case o.Left:
		return endOf(o, b.ByOrder()[o])
	default:
		return o.Over
	}
}

// keptWaiting returns, on its own, an order of the cell that had no lock when it should have been free again: the time
// of an order has passed since the end of the faults, which is not before since. It returns nil if there is none.
func keptWaiting(b *record.Bench, since time.Time) []*shop.Order {
	for _, f := range b.Cell.Faults {
		since = record.Later(since, b.Cell.Start.Add(time.Duration(f.End)))
	}
	isLate := b.Since(since.Add(b.Passport.Limit()))
	for at := range b.Pair.Rig.Ends {
		if record.FirstAfter(isLate, b.Shown().When(at, (*history.Command).Acquires)).Known() {
			return waitedLong(b, since, b.ByOrder())
		}
	}
	return nil
}

// waitedLong returns, on its own, an order that still tried to acquire the lock, in vain or at last, when it had had
// its time: since then, since its first try, and since the end of the last other order that held the lock. It returns
// nil if there is none.
func waitedLong(b *record.Bench, since time.Time, byOrder map[*shop.Order][]record.Observation) []*shop.Order {
	for _, o := range b.Orders {
		if o.Op.Phase != history.Buy || !o.HasEnded() || o.Op.Outcome == history.Unknown {
			continue
		}
		tries := slices.DeleteFunc(record.EffectsOf(byOrder[o]), func(d record.Effect) bool { return !d.Acquires() })
		for _, d := range tries {
			from := record.Later(record.Later(since, tries[0].Sent), lastTurn(b, o, d.Sent, byOrder))
			if d.Sent.After(from.Add(b.Passport.Limit())) {
				return []*shop.Order{o}
			}
			if d.Acquired() {
				break
			}
		}
	}
	return nil
}

// lastTurn returns when the last order ended that had acquired the lock before a time, other than this one. It may hold
// the lock until then.
func lastTurn(
	b *record.Bench, than *shop.Order, then time.Time, byOrder map[*shop.Order][]record.Observation,
) (end time.Time) {
	for _, o := range b.Orders {
		if took := record.AcquiredAt(byOrder[o]); o != than && !took.IsZero() && took.Before(then) {
			end = record.Later(end, endOf(o, byOrder[o]))
		}
	}
	return end
}

// eachInTurn sends fresh orders to b, and then to a. Both count: a had the fault, and may have left something that only
// its own orders get past. The time of b runs from the end of the fault, that of a from the sale at b. It returns the
// orders of an instance that is stuck, or all.
func eachInTurn(
	since time.Time, ask func(at int, since time.Time) (own []*shop.Order, stuck bool),
) (probes []*shop.Order) {
	for _, at := range []int{shop.AtB, shop.AtA} {
		own, stuck := ask(at, since)
		if stuck {
			return own
		}
		probes = append(probes, own...)
		if len(own) > 0 {
			since = own[len(own)-1].Over
		}
	}
	return probes
}

// freshAt returns the orders that show whether one gets through at an instance after a time: fresh ones, and those of
// Bert's that were refused after it. The instance is stuck if it is up and none gets through in time. There are no
// orders if it is down.
func freshAt(b *record.Bench, at int, since time.Time) (own []*shop.Order, stuck bool) {
	own, turn := alreadyAt(b, at, since)
	turn = record.Later(turn, time.Now().Add(-b.Passport.Lease())) // an order sent now has at least the margin
	fresh, through := sellAt(b, at, "fresh-"+b.Pair.Rig.Ends[at].Name, history.Probe, turn)
	if b.Pair.IsDown(at) {
		return nil, false
	}
	return append(own, fresh...), !through
}

// alreadyAt returns the orders that an instance has refused after a time, and when the last sale was, from which the
// time of the next order runs.
func alreadyAt(b *record.Bench, at int, since time.Time) (own []*shop.Order, turn time.Time) {
	turn = since
	soldOut := b.Cell.Left != nil && *b.Cell.Left == 0
	for _, o := range b.Orders {
		switch {
		case o.Op.Phase != history.Buy:
		case b.HasSold(o) && o.Over.After(turn):
			turn, own = o.Over, nil
		case soldOut: // it had to be refused
		case o.At == at && !o.Sent.Before(since):
			own = append(own, o)
		}
	}
	return own, turn
}

// sellAt sends orders to an instance, one after the other, until one sells, the time of a fresh order is over, or the
// instance has exited.
func sellAt(
	b *record.Bench, at int, name string, phase history.Phase, since time.Time,
) (own []*shop.Order, through bool) {
	_ = rig.Fresh(b.Pair.Context, b.Passport.Limit(), func(number int) (over bool) {
		left := b.Passport.Limit() - time.Since(since)
		if left < 0 || b.Pair.IsDown(at) || b.Pair.Context.Err() != nil {
			return true
		}
		o := b.Buy(shop.Nth(name, number), at, phase, b.Pair.Shop.Order, 0)
		own = append(own, o)
		o.WaitFor(left + 500*time.Millisecond)
		if through = b.HasSold(o); !through {
			o.HangUp()
		}
		return through
	})
	return own, through
}

// isFit reports whether the bench is fit for another cell after one: the fresh orders of the cell have sold at both
// instances, or else others do now, and the lock is free.
func isFit(b *record.Bench) bool {
	if !soldAfresh(b) || b.Pair.IsDown(shop.AtA) || b.Pair.IsDown(shop.AtB) {
		return b.IsAsNew()
	}
	b.Pair.Rig.Quiet(b.Pair.Context)
	return b.BecomesFree()
}

// soldAfresh reports whether the last fresh order at each instance has sold.
func soldAfresh(b *record.Bench) bool {
	var sold [2]bool
	for _, o := range b.Orders {
		if o.Fresh {
			sold[o.At] = b.HasSold(o)
		}
	}
	return sold[shop.AtA] && sold[shop.AtB]
}
