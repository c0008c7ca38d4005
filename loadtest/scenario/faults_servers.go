package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

// loseLock holds a at the last moment before its write, and calls fault, by which the servers of its lock may lose the
// lock. Then b sells, if it can, and a goes on.
func (f *faultCell) loseLock(ctx context.Context, text string, fault func() error) error {
	first := f.order(ctx, a, "1", f.heldOrder())
	if err := f.waitTaken(ctx, first); err != nil {
		return err
	}
	begun := time.Now()
	err := fault()
	first.recordFaultOn(lockServer, begun, time.Now(), "%s", text)
	if err != nil {
		return err
	}
	return f.sellBeside(ctx, first)
}

// waitTaken waits until the order is held under its lock, or is answered if its lock may be refused.
func (f *faultCell) waitTaken(ctx context.Context, o *pending) error {
	if f.mayRefuse {
		_, err := o.waitHeldOrAnswered(ctx)
		return err
	}
	return o.waitHeld(ctx)
}

// afterPromotion is the max wait of an order at servers that have just failed over: a replica of the new primary has to
// follow it, and clients have to find it.
const afterPromotion = 10 * time.Second

// sellBeside lets b sell, if it can, while the first order is held. Then it ends the hold.
func (f *faultCell) sellBeside(ctx context.Context, first *pending) error {
	var second client.Order
	if f.mayRefuse || f.rung.Quorum {
		second.Wait = afterPromotion
	}
	if err := f.order(ctx, b, "2", second).waitAnswered(ctx); err != nil {
		return err
	}
	return first.finish(ctx)
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

// injectFailover kills the primary of the locks before its replicas have a's lock.
func injectFailover(ctx context.Context, f *faultCell) error {
	return f.failOver(ctx, f.locks().PauseReplication)
}

// injectFailoverLagging does the same, but one replica has a's lock, and the other one is promoted.
func injectFailoverLagging(ctx context.Context, f *faultCell) error {
	return f.failOver(ctx, f.locks().PauseReplicationToNext)
}

// locks returns the replicated servers of the locks.
func (f *faultCell) locks() *cluster.Replicated { return f.Targets.Pairs[lockServer] }

func (f *faultCell) failOver(ctx context.Context, pause func(context.Context) error) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	if err := pause(ctx); err != nil {
		return err
	}
	f.mayRefuse = f.rung.Replicated
	return f.loseLock(ctx, "whose lock died with its primary", func() error { return f.locks().FailOver(ctx) })
}

// replicatedNode is the one of Redlock's nodes that has a replica.
const replicatedNode = "node 3"

// injectNodeFailover lets one node fail over to a replica that does not have a's lock. Where a majority is enough, two
// nodes are away when a comes, and come back when the replica has been promoted.
func injectNodeFailover(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	pair, away, text := f.Targets.Pairs[replicatedNode], nodes(4, 5), "one of whose three nodes failed over"
	if !f.rung.Quorum {
		away, text = nil, "one of whose five nodes failed over"
	}
	f.kill(away)
	if err := pair.PauseReplication(ctx); err != nil {
		return err
	}
	return f.loseLock(ctx, text, func() error { return errors.Join(pair.FailOver(ctx), f.restart(ctx, away)) })
}

// injectNodeFailoverDelayed does the same, but the replica is promoted only when its primary has been away for a TTL.
// The work of a takes longer than that. The nodes that were away come back at once, so the promotion decides when b has
// a majority.
func injectNodeFailoverDelayed(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	pair, away := f.Targets.Pairs[replicatedNode], nodes(4, 5)
	f.kill(away)
	if err := errors.Join(pair.DelayPromotion(ctx, f.Load.TTL), pair.PauseReplication(ctx)); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: 2 * f.Load.TTL})
	if err := first.waitHeld(ctx); err != nil {
		return err
	}
	begun := time.Now()
	pair.KillPrimary()
	if err := f.restart(ctx, away); err != nil {
		return err
	}
	second := f.order(ctx, b, "2", client.Order{Wait: f.Load.TTL + afterPromotion})
	if err := errors.Join(first.endHold(ctx), pair.AwaitPromotion(ctx)); err != nil {
		return err
	}
	first.recordFaultOn(lockServer, begun, time.Now(), "one of whose three nodes failed over after %s",
		seconds(time.Since(begun)))
	return errors.Join(first.waitAnswered(ctx), second.waitAnswered(ctx))
}

// injectSplitBrain partitions the servers of the locks: the primary is on a's side, all others are on b's, and one of
// them is promoted. Then a takes the lock, and b tries to.
func injectSplitBrain(ctx context.Context, f *faultCell) error {
	f.mayRefuse = f.rung.Replicated
	return f.splitBrain(ctx, f.locks().AwaitPromotion, atOnce)
}

// injectSplitBrainMinReplicas does the same, but a comes when the old primary counts no replica any more.
func injectSplitBrainMinReplicas(ctx context.Context, f *faultCell) error {
	f.mayRefuse = true
	return f.splitBrain(ctx, f.awaitMinReplicas, atOnce)
}

// injectSplitBrainInLag does the same, but a comes at once, while the old primary still counts its replicas.
func injectSplitBrainInLag(ctx context.Context, f *faultCell) error {
	f.mayRefuse = f.rung.Replicated
	return f.splitBrain(ctx, atOnce, f.awaitMinReplicas)
}

// atOnce waits for nothing.
func atOnce(context.Context) error { return nil }

// awaitMinReplicas waits until a replica is promoted, and until both primaries count the replicas that they have.
func (f *faultCell) awaitMinReplicas(ctx context.Context) error {
	if err := f.locks().AwaitPromotion(ctx); err != nil {
		return err
	}
	return f.locks().AwaitMinReplicas(ctx)
}

// splitBrain partitions the servers of the locks, and waits as those functions do before and after a has come.
func (f *faultCell) splitBrain(ctx context.Context, before, after func(context.Context) error) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := f.locks().Partition(ctx); err != nil {
		return err
	}
	if err := before(ctx); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", f.heldOrder())
	if err := f.waitTaken(ctx, first); err != nil {
		return err
	}
	if err := after(ctx); err != nil {
		return err
	}
	first.recordFaultOn(lockServer, begun, time.Now(), "on the side of the old primary")
	if err := f.waitReady(ctx, b); err != nil {
		return err
	}
	return f.sellBeside(ctx, first)
}

// waitReady waits until an instance reaches its servers.
func (f *faultCell) waitReady(ctx context.Context, at int) error {
	for begun := time.Now(); !f.Client.Ready(ctx, f.cell.Instances[at].URL); {
		if time.Since(begun) > barrierTimeout+f.slack() {
			return fmt.Errorf("%s does not find the promoted primary", f.cell.Instances[at].Name)
		}
		if !sleep(ctx, probeGap) {
			return context.Cause(ctx)
		}
	}
	return nil
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
