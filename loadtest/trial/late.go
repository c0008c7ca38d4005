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
	// LateAfter is later than an order goes on after its answer, and lateWithin bounds how late its timers may be.
	LateAfter, LateWithin = 100 * time.Millisecond, time.Second
	// AboutTheSame is how much timers of two orders differ, and mostBusy how late one is on a busy machine.
	AboutTheSame, mostBusy = 80 * time.Millisecond, 300 * time.Millisecond
)

// learnLate learns which commands each order sends long after its answer: those that come once after an order, after
// about the same time for two of three orders. What comes again is a thread's that works for none.
func learnLate(b *Bench) error {
	var before map[sale.Kind]sale.LateCommand
	for i := range 3 {
		b.Begin("", "")
		o, err := b.Plain("late-"+strconv.Itoa(i), shop.AtA)
		if err != nil {
			return err
		}
		<-o.Done()
		b.SleepUntil(o.Over.Add(LateWithin))
		if len(lateOf(b, o)) == 0 {
			return nil
		}
		b.SleepUntil(o.Over.Add(2 * LateWithin))
		late := lateOf(b, o)
		for kind, now := range late {
			if was := before[kind]; isLike(now, was) {
				b.Passport.Late[kind] = sale.LateCommand{After: min(now.After, was.After), Only: now.Only && was.Only}
			}
		}
		if before = late; len(b.Passport.Late) > 0 {
			return nil
		}
	}
	return nil
}

// isLike reports whether the commands of two orders came once, after about the same time.
func isLike(x, y sale.LateCommand) bool {
	return x.After > 0 && y.After > 0 && (x.After-y.After).Abs() < AboutTheSame
}

// lateOf returns the commands on data that came long after the answer to the only order so far, and were not sent by
// then. One that came several times, or too late, has no time.
func lateOf(b *Bench, o *shop.Order) map[sale.Kind]sale.LateCommand {
	late, early := map[sale.Kind]sale.LateCommand{}, map[sale.Kind]bool{}
	end := o.Over
	for _, c := range b.SentBy(o.At) {
		kind := sale.KindOf(&c.Seen)
		after := c.Came.Sub(end)
		switch _, again := late[kind]; {
		case !b.Pair.Ledger.OnData(c.Args):
		case after < LateAfter:
			early[kind], end = true, Later(end, c.Delivered)
		case again || after > LateWithin:
			late[kind] = sale.LateCommand{}
		default:
			late[kind] = sale.LateCommand{After: after, Only: !early[kind]}
		}
	}
	return late
}

// SleepUntil waits until a time.
func (b *Bench) SleepUntil(then time.Time) {
	select {
	case <-time.After(time.Until(then)):
	case <-b.Pair.Context.Done():
	}
}

// AwaitLate waits until the late commands of the orders so far have come.
func (b *Bench) AwaitLate() {
	most := time.Duration(0)
	for late := range maps.Values(b.Passport.Late) {
		most = max(most, late.After)
	}
	if most == 0 {
		return
	}
	for _, o := range b.Orders {
		if o.HasEnded() {
			b.SleepUntil(o.Over.Add(most + LateAfter))
		}
	}
	b.Pair.Quiet(b.Pair.Context)
}

// lateSender returns the order that has sent a command as long after its end as orders do, nil if none has, and whether
// that is known: it names no order's token, and no order at work sends such commands.
func (a *attribution) lateSender(c *Observation) (of *shop.Order, known bool) {
	kind := sale.KindOf(&c.Seen)
	late, known := a.bench.Passport.Late[kind]
	if !known || a.namedBy(c) != nil {
		return nil, false
	}
	nearest := mostBusy
	for _, o := range a.bench.Orders {
		if o.At != a.at || o.IsOpen(c.Came) || a.sentLate[o][kind] || !a.mayBeLate(o) {
			continue
		}
		off := c.Came.Sub(a.endOf(o)) - late.After
		if off > -AboutTheSame && off.Abs() < nearest {
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
	return len(a.bench.Passport.Locks) == 0 || !AcquiredAt(a.record[o]).IsZero()
}

// endOf returns when an order ended: at its answer, or at the reply to its last command that was not late.
func (a *attribution) endOf(o *shop.Order) time.Time {
	end := o.Over
	for _, c := range a.record[o] {
		if !a.sentLate[o][sale.KindOf(&c.Seen)] || c.Came.Before(o.Over.Add(LateAfter)) {
			end = Later(end, c.Delivered)
		}
	}
	return end
}
