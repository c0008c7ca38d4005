package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

// loseLock holds a at the last moment before its write, and calls fault, by which the servers of its lock may lose the
// lock. Then b sells, if it can, and a goes on.
func (f *play) loseLock(text string, fault func()) {
	first := f.order(a, "1", f.heldOrder())
	f.waitTaken(first)
	begun := time.Now()
	fault()
	first.recordFaultOn(lockServer, begun, time.Now(), "%s", text)
	f.sellBeside(first)
}

// waitTaken waits until the order is held under its lock, or is answered if its lock may be refused.
func (f *play) waitTaken(o *inFlight) {
	if f.mayRefuse {
		o.waitHeldOrAnswered()
	} else {
		o.waitHeld()
	}
}

// afterPromotion is the max wait of an order at servers that have just failed over: a replica of the new primary has to
// follow it, and clients have to find it.
const afterPromotion = 10 * time.Second

// sellBeside lets b sell, if it can, while the first order is held. Then it ends the hold.
func (f *play) sellBeside(first *inFlight) {
	var second client.Order
	if f.mayRefuse || f.rung.Quorum {
		second.Wait = afterPromotion
	}
	f.order(b, "2", second).waitAnswered()
	first.finish()
}

// heldOrder returns an order that is held at the last moment before its write. A session lock is checked every 200 ms:
// its order is held before a second of work, since the question is what it does at its next check.
func (f *play) heldOrder() client.Order {
	if f.rung.OnSession() {
		return client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: time.Second}
	}
	return client.Order{Fault: "hold@before:" + f.rung.Write}
}

// injectNodeRestart restarts the lock server, or one of several nodes, while a holds the lock. Where a majority is
// enough, two nodes are away when a comes, and come back together with the node that has lost its data.
func injectNodeRestart(f *play) {
	f.warmUp()
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
	f.loseLock(text, func() {
		f.kill(restarted)
		f.restart(restarted)
	})
}

// injectDelayedRestart does the same, but the node comes back only after every lease that it could have lost has ended.
func injectDelayedRestart(f *play) {
	f.warmUp()
	f.kill(nodes(4, 5))
	first := f.order(a, "1", client.Order{Fault: "hold@before:" + f.rung.Write})
	first.waitHeld()
	begun := time.Now()
	f.kill(nodes(3, 3))
	second := f.order(b, "2", client.Order{Wait: 8 * f.Load.TTL})
	first.endHold()
	first.waitAnswered()
	f.sleepUntil(begun.Add(f.Load.TTL))
	f.restart(nodes(3, 5))
	first.recordFaultOn(lockServer, begun, time.Now(), "one of whose three nodes restarted empty after %s",
		seconds(time.Since(begun)))
	second.waitAnswered()
}

// injectClockJump ends the keys of the lock server, or of most of Redlock's nodes, early. The jump is simulated: it
// does to the keys what a clock that is set forward does.
func injectClockJump(f *play) {
	f.warmUp()
	jumping, text := f.lockServers(), "whose lock server's clock jumped (simulated: its keys ended early)"
	if len(jumping) > 1 {
		jumping, text = nodes(1, 3), "three of whose nodes' clocks jumped (simulated: their keys ended early)"
	}
	f.loseLock(text, func() {
		for _, name := range jumping {
			f.must(f.Targets.Servers[name].Expire(f.ctx))
		}
	})
}

// injectFailover kills the primary of the locks before its replicas have a's lock.
func injectFailover(f *play) {
	f.failOver(f.locks().PauseReplication)
}

// injectFailoverLagging does the same, but one replica has a's lock, and the other one is promoted.
func injectFailoverLagging(f *play) {
	f.failOver(f.locks().PauseReplicationToNext)
}

// locks returns the replicated servers of the locks.
func (f *play) locks() *cluster.Replicated { return f.Targets.Pairs[lockServer] }

func (f *play) failOver(pause func(context.Context) error) {
	f.warmUp()
	f.must(pause(f.ctx))
	f.mayRefuse = f.rung.Replicated
	f.loseLock("whose lock died with its primary", func() { f.must(f.locks().FailOver(f.ctx)) })
}

// replicatedNode is the one of Redlock's nodes that has a replica.
const replicatedNode = "node 3"

// injectNodeFailover lets one node fail over to a replica that does not have a's lock. Where a majority is enough, two
// nodes are away when a comes, and come back when the replica has been promoted.
func injectNodeFailover(f *play) {
	f.warmUp()
	pair, away, text := f.Targets.Pairs[replicatedNode], nodes(4, 5), "one of whose three nodes failed over"
	if !f.rung.Quorum {
		away, text = nil, "one of whose five nodes failed over"
	}
	f.kill(away)
	f.must(pair.PauseReplication(f.ctx))
	f.loseLock(text, func() {
		f.must(pair.FailOver(f.ctx))
		f.restart(away)
	})
}

// injectNodeFailoverDelayed does the same, but the replica is promoted only when its primary has been away for a TTL.
// The work of a takes longer than that. The nodes that were away come back at once, so the promotion decides when b has
// a majority.
func injectNodeFailoverDelayed(f *play) {
	f.warmUp()
	pair, away := f.Targets.Pairs[replicatedNode], nodes(4, 5)
	f.kill(away)
	f.must(pair.DelayPromotion(f.ctx, f.Load.TTL))
	f.must(pair.PauseReplication(f.ctx))
	first := f.order(a, "1", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: 2 * f.Load.TTL})
	first.waitHeld()
	begun := time.Now()
	pair.KillPrimary()
	f.restart(away)
	second := f.order(b, "2", client.Order{Wait: f.Load.TTL + afterPromotion})
	first.endHold()
	f.must(pair.AwaitPromotion(f.ctx))
	first.recordFaultOn(lockServer, begun, time.Now(), "one of whose three nodes failed over after %s",
		seconds(time.Since(begun)))
	first.waitAnswered()
	second.waitAnswered()
}

// injectSplitBrain partitions the servers of the locks: the primary is on a's side, all others are on b's, and one of
// them is promoted. Then a takes the lock, and b tries to.
func injectSplitBrain(f *play) {
	f.mayRefuse = f.rung.Replicated
	f.splitBrain(f.awaitPromotion, atOnce)
}

// injectSplitBrainMinReplicas does the same, but a comes when the old primary counts no replica any more.
func injectSplitBrainMinReplicas(f *play) {
	f.mayRefuse = true
	f.splitBrain(f.awaitMinReplicas, atOnce)
}

// injectSplitBrainInLag does the same, but a comes at once, while the old primary still counts its replicas.
func injectSplitBrainInLag(f *play) {
	f.mayRefuse = f.rung.Replicated
	f.splitBrain(atOnce, f.awaitMinReplicas)
}

// atOnce waits for nothing.
func atOnce() {}

// awaitPromotion waits until a replica is promoted.
func (f *play) awaitPromotion() { f.must(f.locks().AwaitPromotion(f.ctx)) }

// awaitMinReplicas waits until a replica is promoted, and until both primaries count the replicas that they have.
func (f *play) awaitMinReplicas() {
	f.awaitPromotion()
	f.must(f.locks().AwaitMinReplicas(f.ctx))
}

// splitBrain partitions the servers of the locks, and waits as those functions do before and after a has come.
func (f *play) splitBrain(before, after func()) {
	f.warmUp()
	begun := time.Now()
	f.must(f.locks().Partition(f.ctx))
	before()
	first := f.order(a, "1", f.heldOrder())
	f.waitTaken(first)
	after()
	first.recordFaultOn(lockServer, begun, time.Now(), "on the side of the old primary")
	f.waitReady(b)
	f.sellBeside(first)
}

// waitReady waits until an instance reaches its servers.
func (f *play) waitReady(at int) {
	in, bound := f.cell.Instances[at], func() time.Duration { return barrierTimeout + f.slack() }
	if !f.poll(bound, func() bool { return f.Client.Ready(f.ctx, in.URL) }) {
		f.fail("%s does not find the promoted primary", in.Name)
	}
}

// injectStockFailover kills the primary of the stock before its replica has a's sale. The locks are on another server,
// which stays up.
func injectStockFailover(f *play) {
	f.warmUp()
	pair := f.Targets.Pairs[stockServer]
	f.must(pair.PauseReplication(f.ctx))
	first := f.order(a, "1", client.Order{})
	first.waitAnswered()
	begun := time.Now()
	f.must(pair.FailOver(f.ctx))
	first.recordFaultOn(stockServer, begun, time.Now(), "whose sale died with the stock's primary")
	f.order(b, "2", client.Order{}).waitAnswered()
}

func (f *play) kill(servers []string) {
	for _, name := range servers {
		f.Targets.Servers[name].Kill()
	}
}

func (f *play) restart(servers []string) {
	for _, name := range servers {
		f.must(f.Targets.Servers[name].Restart(f.ctx))
	}
}
