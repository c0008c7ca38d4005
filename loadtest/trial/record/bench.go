package record

import (
	"cmp"
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

// A Bench is a pair of instances, and the cell that is played on it.
type Bench struct {
	Pair     *shop.Pair
	Passport *sale.Passport
	AtFirst  map[wire.Key]wire.KeyState // all keys of the Redis before the first order

	Cell   *history.Cell // the one being played
	Orders []*shop.Order
	Extra  []history.Op // of the trial itself
	before int          // writes of the stock by earlier cells
	// SalesBefore are the sales recorded before the cell; only one cell is played at a time then.
	SalesBefore *int64

	blocked []*wire.Command // that were blocked at the Redis when the cell began
	holders Holders
	ends    []lockEnd
}

// Open starts a pair of a shop whose lock is described by a passport, which may be filled in later. Close the pair.
func Open(ctx context.Context, s *shop.Shop, p *sale.Passport) (b *Bench, err error) {
	b = &Bench{Passport: p}
	b.Pair, err = s.Open(ctx, b.holders.saw, func(cmd *wire.Command) bool {
		return p.Releases[p.ShapeOf(&cmd.Seen, s.Shelf())]
	})
	if err != nil {
		return nil, err
	}
	if b.AtFirst, err = wire.Snapshot(ctx, b.Pair.Rig.Stores[0].Redis); err != nil {
		b.Pair.Close()
		return nil, err
	}
	return b, nil
}

// Shape returns the shape of a command.
func (b *Bench) Shape(s *wire.Seen) sale.Shape { return b.Passport.ShapeOf(s, b.Pair.Shop.Shelf()) }

// Begin begins a cell with the name and the line of a fault; both are "" while the trial learns.
func (b *Bench) Begin(name, line string) {
	b.AwaitLate()
	b.Cell, b.Orders, b.Extra, b.ends = NewCell(b.Pair.Shop, b.Passport, name, line), nil, nil, nil
	b.Cell.Start = time.Now()
	b.holders.begin(b.Cell.Start)
	for _, e := range b.Pair.Rig.Ends {
		b.Cell.Instances = append(b.Cell.Instances, history.Instance{Name: e.Name, URL: e.In.URL})
	}
	b.keepBlocked()
	b.Pair.Rig.Gate.Begin()
	writes, _, err := b.Pair.Ledger.Writes(b.Pair.Context)
	if err == nil {
		b.before = len(writes)
	}
}

// NewCell returns a cell of that name and line.
func NewCell(s *shop.Shop, p *sale.Passport, name, line string) *history.Cell {
	return &history.Cell{Kind: history.Trial, Scenario: name, Line: line, Rung: s.Name(), Product: s.Product,
		Repetition: 1, TTL: cmp.Or(p.TTL, p.InValue), Limit: p.Limit(), Facts: &p.Facts}
}

// IsAsNew reports whether an order at each instance sells, and leaves no lock.
func (b *Bench) IsAsNew() bool {
	b.Begin("", "")
	for at := range b.Pair.Rig.Ends {
		if b.Pair.IsDown(at) {
			return false
		}
		o, err := b.Plain("warm-"+strconv.Itoa(at), at)
		if err != nil {
			return false
		}
		if o.WaitFor(b.Passport.Limit()); !b.HasSold(o) {
			return false
		}
	}
	b.Pair.Rig.Quiet(b.Pair.Context) // a release may come after the answer
	return b.BecomesFree()
}

// BecomesFree reports whether the lock is at rest, or expires within a lease: some locks are kept for a while on
// purpose.
func (b *Bench) BecomesFree() bool {
	taken := func(l *wire.Lock, s wire.KeyState) bool { return !l.AtRest(s) }
	expires := func(s wire.KeyState) bool { return s.TTL() > 0 }
	held, known := b.HeldFor(min(b.Passport.Lease(), sale.MostLease), taken, expires)
	return known && !held
}

// HeldFor reports whether the lock, or a key of it, stays held for that time, and whether that is known. It does not
// wait for a held key that is not worth it.
func (b *Bench) HeldFor(
	atMost time.Duration, isHeld func(*wire.Lock, wire.KeyState) bool, isWorth func(wire.KeyState) bool,
) (held, known bool) {
	for late := time.Now().Add(atMost); ; time.Sleep(10 * time.Millisecond) { // no command tells of an expiry
		states, waits := b.Pair.Looker.Load().Look(), true
		held = false
		for i := range b.Passport.Keys {
			l := &b.Passport.Keys[i]
			if s := states[l.Key]; isHeld(l, s) {
				held, waits = true, waits && isWorth(s)
			}
		}
		if !held || !waits || time.Now().After(late) || b.Pair.Context.Err() != nil {
			return held, states != nil
		}
	}
}

// BeginCount records the units and sales before the cell: the units that were put, or, without --set, that are left.
func (b *Bench) BeginCount() (err error) {
	if !b.Pair.Shop.IsElsewhere() {
		return nil
	}
	b.Cell.Count = &history.Count{}
	if b.Pair.Shop.Set == "" && b.Pair.Shop.Left != "" {
		left, err := b.Pair.CountLeft()
		if err != nil {
			return err
		}
		b.Cell.Initial = *left
	}
	b.SalesBefore, err = b.Pair.CountSales()
	return err
}

// EndCount reads what is left, and how many sales were recorded since BeginCount.
func (b *Bench) EndCount() (err error) {
	if b.Cell.Left, err = b.Pair.CountLeft(); err != nil {
		return err
	}
	now, err := b.Pair.CountSales()
	if err == nil && now != nil {
		b.Cell.Count.Sales = new(*now - *b.SalesBefore)
	}
	return err
}

// readStock records the stock left at the end of a cell.
func (b *Bench) readStock() error {
	if b.Pair.Shop.IsElsewhere() {
		return b.EndCount()
	}
	left, err := b.Pair.UnitsLeft()
	b.Cell.Left = &left
	return err
}

// Writes returns the writes of the stock in the cell, without the trial's own, and all written keys, each with the time
// of its first write.
func (b *Bench) Writes() (own []Written, keys map[wire.Key]time.Time, err error) {
	all, keys, err := b.Pair.Ledger.Writes(b.Pair.Context)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range all[b.before:] {
		if at := slices.IndexFunc(b.Pair.Rig.Ends, func(e *rig.End) bool { return e.Wires[0].Owns(w.From) }); at >= 0 {
			own = append(own, Written{w, at})
		}
	}
	return own, keys, nil
}

// Since returns a time relative to the start of the cell.
func (b *Bench) Since(t time.Time) history.Instant { return history.At(b.Cell.Start, t) }
