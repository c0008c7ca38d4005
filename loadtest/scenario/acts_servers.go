package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockapi/loadtest/shop"
)

// usurped holds a at the last instant before its write, lets something happen to the servers of its lock, lets b sell
// if it now can, and then a go on.
func (p *play) usurped(ctx context.Context, text string, happens func() error) error {
	first := p.order(ctx, a, "1", p.unaware())
	if err := first.held(ctx); err != nil {
		return err
	}
	begun := time.Now()
	err := happens()
	first.befell(lockServer, begun, time.Now(), "%s", text)
	if err != nil {
		return err
	}
	if err := p.order(ctx, b, "2", shop.Order{}).answered(ctx); err != nil {
		return err
	}
	if err := first.letGo(ctx); err != nil {
		return err
	}
	return first.answered(ctx)
}

// unaware is an order that is held at the last instant before its write. One whose lock is a session's, which it looks
// after every 200 ms, is held a second of work before that: what it does at its next look is the question.
func (p *play) unaware() shop.Order {
	if p.rung.OnSession() {
		return shop.Order{Fault: "hold@" + p.rung.AfterRead(), Work: time.Second}
	}
	return shop.Order{Fault: "hold@before:" + p.rung.Write}
}

// playNodeRestart restarts the lock server, or one of several nodes, while a holds the lock. Where a majority will do,
// two nodes are away when a comes, and come back with the one that has forgotten its vote.
func playNodeRestart(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	forgetful, text := p.lockServers(), "whose lock server restarted empty"
	switch {
	case p.rung.OnSQL():
		text = "whose lock server restarted"
	case p.rung.Quorum:
		forgetful, text = nodes(3, 5), "one of whose three nodes restarted empty"
		p.kill(nodes(4, 5))
	case p.rung.OnNodes():
		forgetful, text = nodes(3, 3), "one of whose five nodes restarted empty"
	}
	return p.usurped(ctx, text, func() error {
		p.kill(forgetful)
		return p.restart(ctx, forgetful)
	})
}

// playDelayedRestart does the same, but the node comes back only when every lease that it could have forgotten is over.
func playDelayedRestart(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	p.kill(nodes(4, 5))
	first := p.order(ctx, a, "1", shop.Order{Fault: "hold@before:" + p.rung.Write})
	if err := first.held(ctx); err != nil {
		return err
	}
	begun := time.Now()
	p.kill(nodes(3, 3))
	second := p.order(ctx, b, "2", shop.Order{Wait: 8 * p.Load.TTL})
	if err := first.letGo(ctx); err != nil {
		return err
	}
	if err := first.answered(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(time.Until(begun.Add(p.Load.TTL))):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := p.restart(ctx, nodes(3, 5))
	first.befell(lockServer, begun, time.Now(), "one of whose three nodes restarted empty after %s", span(time.Since(begun)))
	return errors.Join(err, second.answered(ctx))
}

// playClockJump ends the keys of the lock server early, of most of Redlock's nodes. The jump is simulated: it does to
// the keys what a clock that is set forward does.
func playClockJump(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	jumping, text := p.lockServers(), "whose lock server's clock jumped (simulated: its keys ended early)"
	if len(jumping) > 1 {
		jumping, text = nodes(1, 3), "three of whose nodes' clocks jumped (simulated: their keys ended early)"
	}
	return p.usurped(ctx, text, func() error {
		var errs []error
		for _, name := range jumping {
			errs = append(errs, p.World.Servers[name].Expire(ctx))
		}
		return errors.Join(errs...)
	})
}

// playFailover lets the primary of the locks die before its replica has seen a's lock.
func playFailover(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	pair := p.World.Pairs[lockServer]
	if err := pair.Sever(ctx); err != nil {
		return err
	}
	return p.usurped(ctx, "whose lock died with its primary", func() error { return pair.FailOver(ctx) })
}

// playStockFailover lets the primary of the stock die before its replica has seen a's sale. The locks are elsewhere,
// and well.
func playStockFailover(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	pair := p.World.Pairs[stockServer]
	if err := pair.Sever(ctx); err != nil {
		return err
	}
	first := p.order(ctx, a, "1", shop.Order{})
	if err := first.answered(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := pair.FailOver(ctx); err != nil {
		return err
	}
	first.befell(stockServer, begun, time.Now(), "whose sale died with the stock's primary")
	return p.order(ctx, b, "2", shop.Order{}).answered(ctx)
}

func (p *play) kill(servers []string) {
	for _, name := range servers {
		p.World.Servers[name].Kill()
	}
}

func (p *play) restart(ctx context.Context, servers []string) error {
	for _, name := range servers {
		if err := p.World.Servers[name].Restart(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
