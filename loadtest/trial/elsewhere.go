package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

// scarce returns how many units a cell is to be played with once more, 0 if it is not: one fewer than it sold, if two
// orders sold at once. A shop that decides first, and then subtracts, sells too many only then.
func (t *Trial) scarce(c *history.Cell) int64 {
	if c == nil || c.Count == nil || t.shop.Set == "" || c.NotTested != nil || c.Defect != nil ||
		c.Finding(history.Stock).Result != history.OK || !soldAtOnce(c) {
		return 0
	}
	sold := int64(0)
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Outcome == history.Sold {
			sold += op.Quantity
		}
	}
	if sold < 2 || sold > c.Initial {
		return 0
	}
	return sold - 1
}

// soldAtOnce reports whether two orders held the lock at once, or one sold while another, which sold too, was held.
func soldAtOnce(c *history.Cell) bool {
	if c.Finding(history.Exclusion).Result == history.Broken {
		return true
	}
	return slices.ContainsFunc(c.Faults, func(f history.Fault) bool {
		within := func(op history.Op) bool {
			return op.Order != f.Order && op.Outcome == history.Sold && op.Done > f.At && op.Done < f.End
		}
		sold := func(op history.Op) bool { return op.Order == f.Order && op.Outcome == history.Sold }
		return slices.ContainsFunc(c.Ops, within) && slices.ContainsFunc(c.Ops, sold)
	})
}

// balance sells a unit at each instance without a fault, and waits. If sales and stock then disagree, it returns why
// the count proves nothing: reservations expire, a job restocks, or nothing is deducted.
func balance(b *record.Bench, wait time.Duration) (unbalanced string, err error) {
	b.Begin("", "")
	b.Cell.Initial = shop.OnShelf // whatever --units are: that it sells too many is for the cells to show
	if err := errors.Join(b.Pair.Put(shop.OnShelf), b.BeginCount()); err != nil {
		return "", err
	}
	for at := range b.Pair.Rig.Ends {
		o := b.Buy("plain-"+strconv.Itoa(at), at, history.Buy, b.Pair.Shop.Order, 0)
		<-o.Done()
		b.Cell.Ops = append(b.Cell.Ops, o.Op)
	}
	select {
	case <-time.After(wait):
	case <-b.Pair.Context.Done():
		return "", context.Cause(b.Pair.Context)
	}
	if err := b.EndCount(); err != nil {
		return "", err
	}
	if f := audit.Stock(b.Cell); f.Result == history.Broken {
		unbalanced = fmt.Sprintf("the count does not balance without a fault either: %s within %s", f.Because,
			rig.Shortly(wait))
	}
	return unbalanced, nil
}

// control checks on an idle bench that the count balances.
func (t *Trial) control(ctx context.Context, wait time.Duration) error {
	if t.shop.Left == "" || t.unbalanced != "" {
		return nil
	}
	b, err := t.idleBench(ctx)
	if err != nil {
		return err
	}
	if t.unbalanced, err = balance(b, wait); err != nil {
		b.Pair.Close()
		return err
	}
	for at := range b.Pair.Rig.Ends { // a pool may have closed its connections, and an order that opens one sends more
		<-b.Buy("warm-"+strconv.Itoa(at), at, history.Buy, b.Pair.Shop.Order, 0).Done()
	}
	t.giveBack(b)
	return nil
}

// recount judges cells again if the count has turned out to prove nothing.
func (t *Trial) recount(cells []*history.Cell) {
	for _, c := range cells {
		if c == nil || c.Count == nil || t.unbalanced == "" || c.NotTested != nil {
			continue
		}
		c.Count.Unbalanced = t.unbalanced
		line := history.TimelineOf(c, history.TermsOnTrial(c))
		c.Findings, c.Coverage = audit.Judge(c, line)
		cause.Explain(c, line)
	}
}
