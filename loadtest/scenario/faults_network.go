package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

// redlockNodes is the number of nodes of v6 and v9-nodes.
const redlockNodes = 5

// nodes returns the names of Redlock's nodes from number first to number last.
func nodes(first, last int) []string {
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, "node "+strconv.Itoa(i))
	}
	return names
}

// lockServers returns the names of the servers that the rung locks on.
func (f *faultCell) lockServers() []string {
	if f.rung.OnNodes() {
		return nodes(1, redlockNodes)
	}
	return []string{lockServer}
}

// onLinks calls do for the links of an instance to those servers.
func (f *faultCell) onLinks(at int, servers []string, do func(*cluster.Link) error) error {
	var errs []error
	for _, name := range servers {
		w := f.Targets.Links[at][name]
		if w == nil {
			errs = append(errs, fmt.Errorf("there is no link from %s to %s", f.cell.Instances[at].Name, name))
			continue
		}
		errs = append(errs, do(w))
	}
	return errors.Join(errs...)
}

// onAllLinks calls do for the links of all instances to those servers.
func (f *faultCell) onAllLinks(servers []string, do func(*cluster.Link) error) error {
	var errs []error
	for i := range f.cell.Instances {
		errs = append(errs, f.onLinks(i, servers, do))
	}
	return errors.Join(errs...)
}

// healAll heals all links.
func (f *faultCell) healAll() error {
	var errs []error
	for _, links := range f.Targets.Links {
		for _, w := range links {
			errs = append(errs, w.Heal())
		}
	}
	return errors.Join(errs...)
}

// injectCutOff drops what a sends to its lock servers while it works longer than its lease lasts. Meanwhile b tries to
// sell.
func injectCutOff(ctx context.Context, f *faultCell) error {
	cut := func() error { return f.onLinks(a, f.lockServers(), (*cluster.Link).DropRequests) }
	if err := f.slowWork(ctx, client.Order{}, cut, func(first *pending, begun time.Time) {
		first.recordFaultOn(network, begun, time.Now(), "cut off from its lock for %s under a lease of %s",
			seconds(time.Since(begun)), seconds(f.Load.TTL))
	}); err != nil {
		return err
	}
	f.probes = []int{b}
	return f.healAll()
}

// injectReplyLost drops the reply to a's acquire and then breaks the connection: the acquire was carried out, but a
// does not know. New connections work again.
func injectReplyLost(ctx context.Context, f *faultCell) error {
	first, begun, err := f.acquireUnanswered(ctx, (*cluster.Link).DropResponses)
	if err != nil {
		return err
	}
	broke := time.Now()
	if err := errors.Join(f.healAll(), first.waitAnswered(ctx)); err != nil {
		return err
	}
	first.recordFaultOn(network, begun, broke, "never told that it had the lock")
	f.probes = []int{b}
	return nil
}

// injectLateReply delays the reply to a's acquire until b holds the lock or has given up.
func injectLateReply(ctx context.Context, f *faultCell) error {
	first, begun, err := f.acquireUnanswered(ctx, (*cluster.Link).DelayResponses)
	if err != nil {
		return err
	}
	second := f.order(ctx, b, "2", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	if _, err := second.waitHeldOrAnswered(ctx); err != nil {
		return err
	}
	first.recordFaultOn(network, begun, time.Now(), "told only after %s that it had a lease of %s",
		seconds(time.Since(begun)), seconds(f.Load.TTL))
	if err := f.healAll(); err != nil {
		return err
	}
	if err := first.waitAnswered(ctx); err != nil {
		return err
	}
	return second.finish(ctx)
}

// acquireUnanswered injects a fault into the replies for a, sends an order there, and waits until its lock is known to
// have been taken.
func (f *faultCell) acquireUnanswered(ctx context.Context, fault func(*cluster.Link) error) (
	first *pending, begun time.Time, err error,
) {
	if err := f.warmUp(ctx); err != nil {
		return nil, begun, err
	}
	before, err := f.keys(ctx)
	if err != nil {
		return nil, begun, err
	}
	if err := f.onLinks(a, f.lockServers(), fault); err != nil {
		return nil, begun, err
	}
	begun = time.Now()
	first = f.order(ctx, a, "1", client.Order{})
	return first, begun, first.waitUntil(ctx, func() (bool, error) {
		now, err := f.keys(ctx)
		return now > before, err
	})
}

// keys counts the keys on all lock servers of the rung.
func (f *faultCell) keys(ctx context.Context) (sum int64, err error) {
	for _, name := range f.lockServers() {
		n, err := f.Targets.Servers[name].Keys(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// injectRedisDown cuts both instances off from all servers, sends an order to each, and heals the links.
func injectRedisDown(ctx context.Context, f *faultCell) error {
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	if err := f.onAllLinks(append(f.lockServers(), stockServer), (*cluster.Link).Cut); err != nil {
		return err
	}
	for i, in := range f.cell.Instances {
		begun := time.Now()
		for f.Client.Ready(ctx, in.URL) && time.Since(begun) < barrierTimeout+f.slack() {
			continue // until it has noticed: the outcome of a command on a connection that is being closed would be unknown
		}
		o := f.order(ctx, i, strconv.Itoa(i+1), client.Order{})
		if err := o.waitAnswered(ctx); err != nil {
			return err
		}
		o.recordFaultOn(network, begun, time.Now(), "without any server")
	}
	return f.healAll()
}

// minorityWait bounds the wait of orders for a lock of which a minority is away.
const minorityWait = 2 * time.Second

// injectMinorityDown takes two nodes of five away: one refuses, and one is silent. Order 1 on a works, and b waits for
// the lock.
func injectMinorityDown(ctx context.Context, f *faultCell) error {
	if f.rung.OnZooKeeper() {
		return f.loseLeader(ctx)
	}
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := errors.Join(f.onAllLinks(nodes(1, 1), (*cluster.Link).Cut),
		f.onAllLinks(nodes(2, 2), (*cluster.Link).DropRequests)); err != nil {
		return err
	}
	first := f.order(ctx, a, "1", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: minorityWait})
	if _, err := first.waitHeldOrAnswered(ctx); err != nil {
		return err
	}
	second := f.order(ctx, b, "2", client.Order{Wait: minorityWait})
	if err := errors.Join(first.finish(ctx), second.waitAnswered(ctx)); err != nil {
		return err
	}
	first.recordFaultOn(network, begun, time.Now(), "with two nodes of five away")
	return nil
}

// injectMajorityDown takes three nodes of five away for good.
func injectMajorityDown(ctx context.Context, f *faultCell) error {
	if f.rung.OnZooKeeper() {
		return f.loseEnsemble(ctx)
	}
	first, begun, err := f.withoutQuorum(ctx)
	if err != nil {
		return err
	}
	first.recordFaultOn(network, begun, time.Now(), "with three nodes of five away")
	return nil
}

// injectQuorumReturns takes three nodes of five away, and heals two of them. A fresh request now needs the nodes that
// stayed up, and what a failed acquire left on them would be in its way.
func injectQuorumReturns(ctx context.Context, f *faultCell) error {
	if f.rung.OnZooKeeper() {
		return f.ensembleReturns(ctx)
	}
	first, begun, err := f.withoutQuorum(ctx)
	if err != nil {
		return err
	}
	first.recordFaultOn(network, begun, time.Now(), "with three nodes of five away")
	f.probes = []int{b}
	return f.onAllLinks(nodes(1, 2), (*cluster.Link).Heal)
}

// withoutQuorum takes three nodes of five away from both instances, and sends an order to a.
func (f *faultCell) withoutQuorum(ctx context.Context) (first *pending, begun time.Time, err error) {
	if err := f.warmUp(ctx); err != nil {
		return nil, begun, err
	}
	begun = time.Now()
	if err := errors.Join(f.onAllLinks(nodes(1, 2), (*cluster.Link).Cut),
		f.onAllLinks(nodes(3, 3), (*cluster.Link).DropRequests)); err != nil {
		return nil, begun, err
	}
	first = f.order(ctx, a, "1", client.Order{})
	return first, begun, first.waitAnswered(ctx)
}
