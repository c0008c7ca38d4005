package record

import (
	"maps"
	"time"

	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

const (
	// LateAfter is later than an order goes on after its answer: what comes then is sent by a timer.
	LateAfter = 100 * time.Millisecond
	// AboutTheSame is how much timers of two orders differ.
	AboutTheSame = 80 * time.Millisecond
	// mostBusy is how late a timer is on a busy machine.
	mostBusy = 300 * time.Millisecond
)

// SleepUntil waits until a time.
func (b *Bench) SleepUntil(then time.Time) {
	select {
	case <-time.After(time.Until(then)):
	case <-b.Pair.Context.Done():
	}
}

// AwaitLate waits until the late commands of the orders so far have come.
func (b *Bench) AwaitLate() {
	if len(b.Passport.Late) == 0 {
		return
	}
	for _, o := range b.Orders {
		if o.HasEnded() {
			b.SleepUntil(b.LastLate(o))
		}
	}
	b.Pair.Rig.Quiet(b.Pair.Context)
}

// LastLate returns by when the late commands of an order that has ended have come.
func (b *Bench) LastLate(of *shop.Order) time.Time {
	most := -LateAfter
	for late := range maps.Values(b.Passport.Late) {
		most = max(most, late.After)
	}
	return of.Over.Add(most + LateAfter)
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
