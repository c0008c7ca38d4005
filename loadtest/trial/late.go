package trial

import (
	"maps"
	"strconv"
	"time"

	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// Some shops send a command of an order long after its answer, from a timer. It names no order, and may arrive while
// another one is at work, so the trial learns how long after its order it comes.

const (
	// lateAfter is later than an order goes on after its answer, and lateWithin bounds how late its timers may be.
	lateAfter, lateWithin = 100 * time.Millisecond, time.Second
	// aboutTheSame is how much timers of two orders differ, and mostBusy how late one is on a busy machine.
	aboutTheSame, mostBusy = 80 * time.Millisecond, 300 * time.Millisecond
)

// learnLate learns which commands each order sends long after its answer: those that come once after an order, after
// about the same time for two of three orders. What comes again is a thread's that works for none.
func learnLate(b *bench) error {
	var before map[sale.Kind]sale.LateCommand
	for i := range 3 {
		b.begin("", "")
		o, err := b.plain("late-"+strconv.Itoa(i), shop.AtA)
		if err != nil {
			return err
		}
		<-o.Done()
		b.sleepUntil(o.Over.Add(lateWithin))
		if len(lateOf(b, o)) == 0 {
			return nil
		}
		b.sleepUntil(o.Over.Add(2 * lateWithin))
		late := lateOf(b, o)
		for kind, now := range late {
			if was := before[kind]; isLike(now, was) {
				b.passport.Late[kind] = sale.LateCommand{After: min(now.After, was.After), Only: now.Only && was.Only}
			}
		}
		if before = late; len(b.passport.Late) > 0 {
			return nil
		}
	}
	return nil
}

// isLike reports whether the commands of two orders came once, after about the same time.
func isLike(x, y sale.LateCommand) bool {
	return x.After > 0 && y.After > 0 && (x.After-y.After).Abs() < aboutTheSame
}

// lateOf returns the commands on data that came long after the answer to the only order so far, and were not sent by
// then. One that came several times, or too late, has no time.
func lateOf(b *bench, o *shop.Order) map[sale.Kind]sale.LateCommand {
	late, early := map[sale.Kind]sale.LateCommand{}, map[sale.Kind]bool{}
	end := o.Over
	for _, c := range b.sentBy(o.At) {
		kind := sale.KindOf(&c.Seen)
		after := c.Came.Sub(end)
		switch _, again := late[kind]; {
		case !b.pair.Ledger.OnData(c.Args):
		case after < lateAfter:
			early[kind], end = true, later(end, c.Delivered)
		case again || after > lateWithin:
			late[kind] = sale.LateCommand{}
		default:
			late[kind] = sale.LateCommand{After: after, Only: !early[kind]}
		}
	}
	return late
}

// sleepUntil waits until a time.
func (b *bench) sleepUntil(then time.Time) {
	select {
	case <-time.After(time.Until(then)):
	case <-b.pair.Context.Done():
	}
}

// awaitLate waits until the late commands of the orders so far have come.
func (b *bench) awaitLate() {
	most := time.Duration(0)
	for late := range maps.Values(b.passport.Late) {
		most = max(most, late.After)
	}
	if most == 0 {
		return
	}
	for _, o := range b.orders {
		if o.HasEnded() {
			b.sleepUntil(o.Over.Add(most + lateAfter))
		}
	}
	b.pair.Quiet(b.pair.Context)
}

// lateSender returns the order that has sent a command as long after its end as orders do, nil if none has, and whether
// that is known: it names no order's token, and no order at work sends such commands.
func (a *attribution) lateSender(c *observation) (of *shop.Order, known bool) {
	kind := sale.KindOf(&c.Seen)
	late, known := a.bench.passport.Late[kind]
	if !known || a.namedBy(c) != nil {
		return nil, false
	}
	nearest := mostBusy
	for _, o := range a.bench.orders {
		if o.At != a.at || o.IsOpen(c.Came) || a.sentLate[o][kind] || !a.mayBeLate(o) {
			continue
		}
		off := c.Came.Sub(a.endOf(o)) - late.After
		if off > -aboutTheSame && off.Abs() < nearest {
			of, nearest = o, off.Abs()
		}
	}
	if of != nil {
		if a.sentLate[of] == nil {
			a.sentLate[of] = map[sale.Kind]bool{}
		}
		a.sentLate[of][kind] = true
	}
	return of, of != nil || late.Only
}

// mayBeLate reports whether an order has got as far as those that send late commands: it has acquired the lock, if
// there is one.
func (a *attribution) mayBeLate(o *shop.Order) bool {
	return len(a.bench.passport.Locks) == 0 || !acquiredAt(a.record[o]).IsZero()
}

// endOf returns when an order ended: at its answer, or at the reply to its last command that was not late.
func (a *attribution) endOf(o *shop.Order) time.Time {
	end := o.Over
	for _, c := range a.record[o] {
		if !a.sentLate[o][sale.KindOf(&c.Seen)] || c.Came.Before(o.Over.Add(lateAfter)) {
			end = later(end, c.Delivered)
		}
	}
	return end
}
