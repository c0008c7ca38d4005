package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockapi/loadtest/client"
)

// loseLock holds a at the last moment before its write, and calls fault, by which the servers of its lock may lose the
// lock. Then b sells, if it can, and a goes on.
func (f *faultCell) loseLock(ctx context.Context, text string, fault func() error) error {
	first := f.order(ctx, a, "1", f.heldOrder())
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	begun := time.Now()
	err := fault()
	first.recordFaultOn(lockServer, begun, time.Now(), "%s", text)
	if err != nil {
		return err
	}
	if err := f.order(ctx, b, "2", client.Order{}).waitAnswered(ctx); err != nil {
		return err
	}
	if err := first.endHold(ctx); err != nil {
		return err
	}
	return first.waitAnswered(ctx)
}

// heldOrder returns an order that is held at the last moment before its write. A session lock is checked every 200 ms:
// its order is held before a second of work, since the question is what it does at its next check.
func (f *faultCell) heldOrder() client.Order {
	if f.rung.OnSession() {
		return client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: time.Second}
	}
	return client.Order{Fault: "hold@before:" + f.rung.Write}
}

// injectNodeRestart restarts the lock server, or one of several nodes, while a holds the lock. Where a majority is
// enough, two nodes are away when a comes, and come back together with the node that has lost its data.
func injectNodeRestart(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	restarted, text := f.lockServers(), "whose lock server restarted empty"
	switch {
	case f.rung.OnSQL():
		text = "whose lock server restarted"
	case f.rung.Quorum:
		restarted, text = nodes(3, 5), "one of whose three nodes restarted empty"
		f.kill(nodes(4, 5))
	case f.rung.OnNodes():
		restarted, text = nodes(3, 3), "one of whose five nodes restarted empty"
	}
	return f.loseLock(ctx, text, func() error {
		f.kill(restarted)
		return f.restart(ctx, restarted)
	})
}

// injectDelayedRestart does the same, but the node comes back only after every lease that it could have lost has ended.
func injectDelayedRestart(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	f.kill(nodes(4, 5))
	first := f.order(ctx, a, "1", client.Order{Fault: "hold@before:" + f.rung.Write})
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	begun := time.Now()
	f.kill(nodes(3, 3))
	second := f.order(ctx, b, "2", client.Order{Wait: 8 * f.Load.TTL})
	if err := first.endHold(ctx); err != nil {
		return err
	}
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(time.Until(begun.Add(f.Load.TTL))):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := f.restart(ctx, nodes(3, 5))
	first.recordFaultOn(lockServer, begun, time.Now(), "one of whose three nodes restarted empty after %s",
		seconds(time.Since(begun)))
	return errors.Join(err, second.waitAnswered(ctx))
}

// injectClockJump ends the keys of the lock server, or of most of Redlock's nodes, early. The jump is simulated: it
// does to the keys what a clock that is set forward does.
func injectClockJump(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	jumping, text := f.lockServers(), "whose lock server's clock jumped (simulated: its keys ended early)"
	if len(jumping) > 1 {
		jumping, text = nodes(1, 3), "three of whose nodes' clocks jumped (simulated: their keys ended early)"
	}
	return f.loseLock(ctx, text, func() error {
		var errs []error
		for _, name := range jumping {
			errs = append(errs, f.Targets.Servers[name].Expire(ctx))
		}
		return errors.Join(errs...)
	})
}

// injectFailover kills the primary of the locks before its replica has a's lock.
func injectFailover(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	pair := f.Targets.Pairs[lockServer]
	if err := pair.PauseReplication(ctx); err != nil {
		return err
	}
	return f.loseLock(ctx, "whose lock died with its primary", func() error { return pair.FailOver(ctx) })
}

// injectStockFailover kills the primary of the stock before its replica has a's sale. The locks are on another server,
// which stays up.
func injectStockFailover(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	pair := f.Targets.Pairs[stockServer]
	if err := pair.PauseReplication(ctx); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", client.Order{})
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := pair.FailOver(ctx); err != nil {
		return err
	}
	first.recordFaultOn(stockServer, begun, time.Now(), "whose sale died with the stock's primary")
	return f.order(ctx, b, "2", client.Order{}).waitAnswered(ctx)
}

func (f *faultCell) kill(servers []string) {
	for _, name := range servers {
		f.Targets.Servers[name].Kill()
	}
}

func (f *faultCell) restart(ctx context.Context, servers []string) error {
	for _, name := range servers {
		if err := f.Targets.Servers[name].Restart(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
