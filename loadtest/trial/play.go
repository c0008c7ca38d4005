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
	"stockapi/loadtest/trial/shop"
)

// play plays a cell: the fault, then a fresh order at each instance that is up.
func (t *Trial) play(b *bench, f fault) (*history.Cell, error) {
	b.begin(f.name, f.line)
	crowd := f.parsed().Crowd()
	b.cell.Initial = cmp.Or(f.units, b.pair.Shop.UnitsFor(crowd))
	if err := errors.Join(b.pair.Put(b.cell.Initial), b.beginCount()); err != nil {
		return nil, err
	}
	if b.cell.Count != nil {
		b.cell.Count.Unbalanced = t.unbalanced
	}
	if f.play == nil {
		f.play = playLine(f.parsed())
	}
	why := f.play(b)
	heal(b)
	if b.pair.Context.Err() != nil {
		return nil, context.Cause(b.pair.Context)
	}
	for _, o := range b.orders {
		<-o.Done()
	}
	b.pair.Quiet(b.pair.Context)
	line, err := b.complete(crowd > 0, func() ([]*shop.Order, error) { return fresh(b) })
	if err != nil {
		return nil, err
	}
	cell := b.cell
	away, longest := t.stalls.Since(cell.Start)
	cell.Client = &history.Client{Asked: len(cell.Ops), Delivered: len(cell.Ops), Loop: "closed", Away: away,
		Longest: longest}
	cell.Findings, cell.Coverage = audit.Judge(cell, line)
	if cell.Aborted = why; why == "" && cell.Count != nil && cell.Count.Kept {
		cell.Aborted = history.KeptByDatabase
	}
	cause.Explain(cell, line)
	return cell, nil
}

// heal clears all faults.
func heal(b *bench) {
	b.pair.GoOnAll()
	for at := range b.pair.Ends {
		b.pair.Rejoin(b.pair.Ends[at])
		_ = b.pair.Ends[at].In.Continue()
	}
}

// endOf returns when an order ended: at its answer or, if its customer had left, when its instance released the lock.
func endOf(o *shop.Order, commands []observation) (end time.Time) {
	end = o.Over
	for _, d := range effectsOf(commands) {
		if o.Left && d.Releases() {
			end = later(end, d.Sent)
		}
	}
	return end
}

// fresh sends orders to each instance that is up, until one sells. It returns those of an instance where none got
// through in time, or all. It restocks before, so that an order that gets through sells.
func fresh(b *bench) (probes []*shop.Order, err error) {
	over := time.Now()
	if o := b.hit(); o != nil {
		if over = o.Over; o.Left {
			over = endOf(o, b.byOrder()[o])
		}
	}
	probes = eachInTurn(over, func(at int, since time.Time) (own []*shop.Order, stuck bool) {
		err = errors.Join(err, b.pair.Put(b.pair.Shop.UnitsFor(0)))
		return freshAt(b, at, since)
	})
	return probes, errors.Join(err, context.Cause(b.pair.Context))
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
func freshAt(b *bench, at int, since time.Time) (own []*shop.Order, stuck bool) {
	var record map[*shop.Order][]observation
	isFree := b.since(since.Add(b.passport.Limit()))
	if firstAfter(isFree, b.shown().when(at, (*history.Command).Acquires)).Known() { // by an order, or by a fresh one
		record = b.byOrder()
	}
	own, turn, stuck := alreadyAt(b, at, since, record)
	if stuck {
		return own, true
	}
	turn = later(turn, time.Now().Add(-b.passport.Lease())) // an order sent now has at least the margin
	fresh, through := sellAt(b, at, "fresh-"+b.pair.Ends[at].Name, history.Probe, turn)
	if b.pair.IsDown(at) {
		return nil, false
	}
	return append(own, fresh...), !through
}

// alreadyAt returns the orders that an instance has refused after a time, and when the last sale was, from which the
// time of the next order runs. The instance is stuck if an earlier order still found the lock taken when it should have
// been free.
func alreadyAt(b *bench, at int, since time.Time, record map[*shop.Order][]observation) (
	own []*shop.Order, turn time.Time, stuck bool,
) {
	stillTaken := func(d effect) bool {
		return d.Acquires() && !d.acquired() && d.Sent.After(since.Add(b.passport.Limit()))
	}
	turn = since
	soldOut := b.cell.Left != nil && *b.cell.Left == 0
	for _, o := range b.orders {
		switch sold := b.hasSold(o); {
		case o.Op.Phase != history.Buy:
		case sold && o.At == at && o.Sent.Before(since) && slices.ContainsFunc(effectsOf(record[o]), stillTaken):
			return []*shop.Order{o}, turn, true
		case sold && o.Over.After(turn):
			turn, own = o.Over, nil
		case soldOut: // it had to be refused
		case o.At == at && !o.Sent.Before(since):
			own = append(own, o)
		}
	}
	return own, turn, false
}

// sellAt sends orders to an instance, one after the other, until one sells, the time of a fresh order is over, or the
// instance has exited.
func sellAt(b *bench, at int, name string, phase history.Phase, since time.Time) (own []*shop.Order, through bool) {
	_ = rig.Fresh(b.pair.Context, b.passport.Limit(), func(number int) (over bool) {
		left := b.passport.Limit() - time.Since(since)
		if left < 0 || b.pair.IsDown(at) || b.pair.Context.Err() != nil {
			return true
		}
		o := b.buy(shop.Nth(name, number), at, phase, b.pair.Shop.Order, 0)
		own = append(own, o)
		o.WaitFor(left + 500*time.Millisecond)
		if through = b.hasSold(o); !through {
			o.HangUp()
		}
		return through
	})
	return own, through
}
