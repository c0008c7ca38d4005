package scenario

import (
	"context"
	"strconv"
	"time"

	"stockapi/loadtest/shop"
)

// foundTaken is after what an order has found the lock taken: in ZooKeeper, after it has set its watch on what is there.
var foundTaken = map[string]string{
	"v7": "hold@after:eval:acquire-reentrant", "v8": "hold@after:eval:acquire-fair",
	"v13": "hold@after:zk:watch", "v14": "hold@after:zk:watch",
}

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
			Fault: foundTaken[p.rung.Number], Wait: 20 * time.Second, Work: timeToGoBack,
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
