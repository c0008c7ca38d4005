package record

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/shop"
)

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
	writes, _, err = b.Writes()
	c.JobOfOther = b.jobInCell(writes)
	return line, err
}

// noteDeaths records which instances have exited on their own.
func (b *Bench) noteDeaths() {
	for at, e := range b.Pair.Rig.Ends {
		killed := slices.ContainsFunc(b.Cell.Faults, func(f history.Fault) bool {
			return f.Instance == e.Name && f.Kind == history.FaultKill
		})
		if now := b.Since(time.Now()); b.Pair.IsDown(at) && !killed {
			f := rig.DiedFault(shop.LastWords(e.In.Tail()))
			f.Instance, f.At, f.End = e.Name, now, now
			b.Cell.Faults = append(b.Cell.Faults, f)
		}
	}
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
	op.Instance, op.Sent, op.Done = b.Pair.Rig.Ends[o.At].Name, b.Since(o.Sent), history.Never
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

// Note records a fault of an order, from since until now.
func (b *Bench) Note(o *shop.Order, since time.Time, f history.Fault) {
	o.Note(b.Cell, f, since, time.Now())
}

// traceOf returns commands in the form of a history.
func traceOf(commands []Observation) (trace []history.Command) {
	for _, c := range commands {
		trace = append(append(trace, c.Effects...), c.Unseen...)
	}
	return trace
}
