package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// play plays a cell: the fault, then a fresh order at each instance that is up.
func (b *bench) play(f fault) (*history.Cell, error) {
	b.begin()
	b.initial = onShelf
	if f.crowd > 0 {
		b.initial = crowdShelf * int64(f.crowd)
	}
	if err := b.put(b.initial); err != nil {
		return nil, err
	}
	why := f.play(b)
	b.heal()
	if b.ctx.Err() != nil {
		return nil, context.Cause(b.ctx)
	}
	for _, o := range b.orders {
		<-o.done
	}
	b.quiet()
	cell, err := b.cell(f)
	if err != nil {
		return nil, err
	}
	record, err := b.complete(cell, f)
	if err != nil {
		return nil, err
	}
	if why == "" && f.asks != nil {
		why = f.asks(b, record)
	}
	cell.Aborted = why
	b.explain(f, cell, record)
	died, all := b.died()
	if died != "" {
		cell.Remarks = append(cell.Remarks, died)
	}
	if all {
		why = died
	}
	if why != "" && cell.Defect == nil && broken(cell) == "" {
		cell.NotAsked = &history.NotAsked{Reason: why}
	}
	return cell, nil
}

// heal lets everything go on.
func (b *bench) heal() {
	b.mu.Lock()
	traps := slices.Clone(b.traps)
	b.mu.Unlock()
	for _, t := range traps {
		b.unset(t)
	}
	for at := range b.ends {
		b.reach(at, true)
		_ = b.ends[at].shop.Continue()
	}
}

// fresh sends orders to each instance that is up, until one sells. It returns those of an instance where none got
// through in time, or all. The shelf is full, so that an order that gets through sells.
func (b *bench) fresh() (probes []*order, err error) {
	if err := b.put(onShelf); err != nil {
		return nil, err
	}
	for _, at := range []int{atB, atA} { // a has seen the fault, and may have left something that lets it in
		e := b.ends[at]
		own, through := b.freshAt(at)
		switch {
		case b.ctx.Err() != nil:
			return nil, context.Cause(b.ctx)
		case through:
			probes = append(probes, own...)
		case !e.isDown():
			return own, nil
		}
	}
	return probes, nil
}

// freshAt sends orders to an instance, until one sells, the time for that is over, or the instance has ended.
func (b *bench) freshAt(at int) (own []*order, through bool) {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		left := b.patience() - time.Since(begun)
		if left < 0 || b.ends[at].isDown() || b.ctx.Err() != nil {
			return own, false
		}
		o := b.buy(fmt.Sprintf("fresh-%s-%d", b.ends[at].Name, len(own)+1), at, history.Probe, b.Order, 0)
		own = append(own, o)
		wait(o, left+500*time.Millisecond)
		if isClosed(o.done) && o.outcome == history.Sold {
			return own, true
		}
		o.hang()
		<-o.done
	}
}
