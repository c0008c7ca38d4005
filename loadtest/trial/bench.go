package trial

import (
	"context"
	"slices"
	"strconv"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A bench is a pair of instances, and the cell that is played on it.
type bench struct {
	pair     *shop.Pair
	passport *sale.Passport

	cell   *history.Cell // the one being played
	orders []*shop.Order
	extra  []history.Op // of the trial itself
	before int          // writes of the stock by earlier cells
	// recordedBefore are the sales recorded before the cell; only one cell is played at a time then.
	recordedBefore *int64

	holders holders
	ends    []lockEnd
}

// openBench starts a pair of a shop whose lock is described by a passport, which may be filled in later. Close the pair.
func openBench(ctx context.Context, s *shop.Shop, p *sale.Passport) (b *bench, err error) {
	b = &bench{passport: p}
	b.pair, err = s.Open(ctx, b.holders.saw, func(cmd *wire.Command) bool {
		return p.Releases[p.ShapeOf(&cmd.Seen, s.Shelf())]
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// noteDeaths records which instances have exited on their own.
func (b *bench) noteDeaths() {
	for at, e := range b.pair.Ends {
		killed := slices.ContainsFunc(b.cell.Faults, func(f history.Fault) bool {
			return f.Instance == e.Name && f.Kind == history.FaultKill
		})
		if now := b.since(time.Now()); b.pair.IsDown(at) && !killed {
			f := rig.DiedFault(shop.LastWords(e.In.Tail()))
			f.Instance, f.At, f.End = e.Name, now, now
			b.cell.Faults = append(b.cell.Faults, f)
		}
	}
}

// shape returns the shape of a command.
func (b *bench) shape(s *wire.Seen) sale.Shape { return b.passport.ShapeOf(s, b.pair.Shop.Shelf()) }

// readStock records the stock left at the end of a cell.
func (b *bench) readStock() error {
	if b.pair.Shop.IsElsewhere() {
		return b.endCount()
	}
	left, err := b.pair.UnitsLeft()
	b.cell.Left = &left
	return err
}

// isFit reports whether the bench is fit for another cell after one: the fresh orders of the cell have sold at both
// instances, or else others do now, and the lock is free.
func isFit(b *bench) bool {
	if !soldAfresh(b) || b.pair.IsDown(shop.AtA) || b.pair.IsDown(shop.AtB) {
		return b.isAsNew()
	}
	b.pair.Quiet(b.pair.Context)
	return b.becomesFree()
}

// soldAfresh reports whether the last fresh order at each instance has sold.
func soldAfresh(b *bench) bool {
	var sold [2]bool
	for _, o := range b.orders {
		if o.Fresh {
			sold[o.At] = b.hasSold(o)
		}
	}
	return sold[shop.AtA] && sold[shop.AtB]
}

// isAsNew reports whether an order at each instance sells, and leaves no lock.
func (b *bench) isAsNew() bool {
	b.begin("", "")
	for at := range b.pair.Ends {
		if b.pair.IsDown(at) {
			return false
		}
		o, err := b.plain("warm-"+strconv.Itoa(at), at)
		if err != nil {
			return false
		}
		if o.WaitFor(b.passport.Limit()); !b.hasSold(o) {
			return false
		}
	}
	b.pair.Quiet(b.pair.Context) // a release may come after the answer
	return b.becomesFree()
}

// becomesFree reports whether the lock is at rest, or expires within a lease: some locks are kept for a while on
// purpose.
func (b *bench) becomesFree() bool {
	taken := func(l *wire.Lock, s wire.KeyState) bool { return !l.AtRest(s) }
	expires := func(s wire.KeyState) bool { return s.TTL() > 0 }
	held, known := b.heldFor(min(b.passport.Lease(), sale.MostLease), taken, expires)
	return known && !held
}

// heldFor reports whether the lock, or a key of it, stays held for that time, and whether that is known. It does not
// wait for a held key that is not worth it.
func (b *bench) heldFor(
	atMost time.Duration, isHeld func(*wire.Lock, wire.KeyState) bool, isWorth func(wire.KeyState) bool,
) (held, known bool) {
	for late := time.Now().Add(atMost); ; time.Sleep(10 * time.Millisecond) { // no command tells of an expiry
		states, waits := b.pair.Looker.Load().Look(), true
		held = false
		for i := range b.passport.Keys {
			l := &b.passport.Keys[i]
			if s := states[l.Key]; isHeld(l, s) {
				held, waits = true, waits && isWorth(s)
			}
		}
		if !held || !waits || time.Now().After(late) || b.pair.Context.Err() != nil {
			return held, states != nil
		}
	}
}

// begin begins a cell with the name and the line of a fault; both are "" while the trial learns.
func (b *bench) begin(name, line string) {
	b.awaitLate()
	b.cell, b.orders, b.extra, b.ends = newCell(b.pair.Shop, b.passport, name, line), nil, nil, nil
	b.cell.Start = time.Now()
	b.holders.begin(b.cell.Start)
	for _, e := range b.pair.Ends {
		b.cell.Instances = append(b.cell.Instances, history.Instance{Name: e.Name, URL: e.In.URL})
	}
	b.pair.Gate.Begin()
	writes, _, err := b.pair.Ledger.Writes(b.pair.Context)
	if err == nil {
		b.before = len(writes)
	}
}
