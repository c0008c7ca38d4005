package scenario

import (
	"context"
	"strconv"
	"time"

	"stockapi/loadtest/shop"
)

// timeToGoBack is how long each of them works, so that those who were woken in vain wait again by the next release.
const timeToGoBack = 40 * time.Millisecond

// playHerd lets fifty find the lock taken, on b and a in turn, and waits until all of them have had it.
func playHerd(ctx context.Context, p *play) error {
	const waiters = 50
	first, err := p.holder(ctx)
	if err != nil {
		return err
	}
	var all []*pending
	for n := range waiters {
		all = append(all, p.order(ctx, (n+1)%2, strconv.Itoa(n+1), shop.Order{
			Fault: "hold@after:" + p.rung.Taken, Wait: 20 * time.Second, Work: timeToGoBack,
		}))
	}
	for _, o := range all {
		if err := o.held(ctx); err != nil {
			return err
		}
	}
	for _, o := range all {
		if err := o.letGo(ctx); err != nil {
			return err
		}
	}
	p.cell.Waiting = waiters
	if err := first.goesOn(ctx); err != nil {
		return err
	}
	for _, o := range all {
		if err := o.answered(ctx); err != nil {
			return err
		}
	}
	return nil
}
