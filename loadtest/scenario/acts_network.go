package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stockapi/loadtest/shop"
)

// redlockNodes is how many nodes v6 and v9-nodes have.
const redlockNodes = 5

// nodes names Redlock's nodes from number first to number last.
func nodes(first, last int) []string {
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, "node "+strconv.Itoa(i))
	}
	return names
}

// lockServers names the servers that the rung locks on.
func (p *play) lockServers() []string {
	if p.rung.OnNodes() {
		return nodes(1, redlockNodes)
	}
	return []string{lockServer}
}

// harm does something to the wires of an instance to those servers.
func (p *play) harm(at int, servers []string, do func(Wire) error) error {
	var errs []error
	for _, name := range servers {
		w := p.World.Wires[at][name]
		if w == nil {
			errs = append(errs, fmt.Errorf("there is no wire from %s to %s", p.cell.Instances[at].Name, name))
			continue
		}
		errs = append(errs, do(w))
	}
	return errors.Join(errs...)
}

// harmAll does it to the wires of all instances.
func (p *play) harmAll(servers []string, do func(Wire) error) error {
	var errs []error
	for i := range p.cell.Instances {
		errs = append(errs, p.harm(i, servers, do))
	}
	return errors.Join(errs...)
}

// mend makes all wires whole again.
func (p *play) mend() error {
	var errs []error
	for _, wires := range p.World.Wires {
		for _, w := range wires {
			errs = append(errs, w.Mend())
		}
	}
	return errors.Join(errs...)
}

// playCutOff lets what a sends to its locks vanish while it is at work for longer than its lease; b tries meanwhile.
func playCutOff(ctx context.Context, p *play) error {
	cut := func() error { return p.harm(a, p.lockServers(), Wire.LoseCommands) }
	if err := p.slowWork(ctx, cut, func(first *pending, begun time.Time) {
		first.befell(network, begun, time.Now(), "cut off from its lock for %s under a lease of %s", span(time.Since(begun)), span(p.Load.TTL))
	}); err != nil {
		return err
	}
	p.probes = []int{b}
	return p.mend()
}

// playReplyLost lets the answer to a's acquire vanish, and then breaks the connection: what a asked for was done, and
// a is not told. A new connection works again.
func playReplyLost(ctx context.Context, p *play) error {
	first, begun, err := p.unheard(ctx, Wire.LoseReplies)
	if err != nil {
		return err
	}
	broke := time.Now()
	if err := errors.Join(p.mend(), first.answered(ctx)); err != nil {
		return err
	}
	first.befell(network, begun, broke, "never told that it had the lock")
	p.probes = []int{b}
	return nil
}

// playLateReply keeps the answer to a's acquire back until b is inside, or has given up.
func playLateReply(ctx context.Context, p *play) error {
	first, begun, err := p.unheard(ctx, Wire.HoldReplies)
	if err != nil {
		return err
	}
	second := p.order(ctx, b, "2", shop.Order{Fault: "hold@before:" + p.rung.Write, Wait: p.secondWait()})
	if _, err := second.heldOrAnswered(ctx); err != nil {
		return err
	}
	first.befell(network, begun, time.Now(), "told only after %s that it had a lease of %s", span(time.Since(begun)), span(p.Load.TTL))
	if err := p.mend(); err != nil {
		return err
	}
	if err := first.answered(ctx); err != nil {
		return err
	}
	return second.goesOn(ctx)
}

// unheard sends an order to a, harms the way back, and waits until the lock is known to have been taken.
func (p *play) unheard(ctx context.Context, harm func(Wire) error) (first *pending, begun time.Time, err error) {
	if err := p.opening(ctx); err != nil {
		return nil, begun, err
	}
	before, err := p.keys(ctx)
	if err != nil {
		return nil, begun, err
	}
	if err := p.harm(a, p.lockServers(), harm); err != nil {
		return nil, begun, err
	}
	begun = time.Now()
	first = p.order(ctx, a, "1", shop.Order{})
	return first, begun, first.until(ctx, func() (bool, error) {
		now, err := p.keys(ctx)
		return now > before, err
	})
}

// keys counts the keys on all lock servers of the rung.
func (p *play) keys(ctx context.Context) (sum int64, err error) {
	for _, name := range p.lockServers() {
		n, err := p.World.Servers[name].Keys(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// playRedisDown takes all servers away from both instances, asks both, and gives the servers back.
func playRedisDown(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	if err := p.harmAll(append(p.lockServers(), stockServer), Wire.Cut); err != nil {
		return err
	}
	for i, in := range p.cell.Instances {
		begun := time.Now()
		for p.Client.Ready(ctx, in.URL) && time.Since(begun) < within+p.slack() {
			continue // until it has noticed: a command on a connection that is just being closed is one in doubt
		}
		o := p.order(ctx, i, strconv.Itoa(i+1), shop.Order{})
		if err := o.answered(ctx); err != nil {
			return err
		}
		o.befell(network, begun, time.Now(), "without any server")
	}
	return p.mend()
}

// playMinorityDown takes two nodes of five away: one refuses, and one is silent. a works, and b waits for it.
func playMinorityDown(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := errors.Join(p.harmAll(nodes(1, 1), Wire.Cut), p.harmAll(nodes(2, 2), Wire.LoseCommands)); err != nil {
		return err
	}
	first := p.order(ctx, a, "1", shop.Order{Fault: "hold@before:" + p.rung.Write, Wait: 4 * p.Load.TTL})
	if _, err := first.heldOrAnswered(ctx); err != nil {
		return err
	}
	second := p.order(ctx, b, "2", shop.Order{Wait: 4 * p.Load.TTL})
	if err := errors.Join(first.goesOn(ctx), second.answered(ctx)); err != nil {
		return err
	}
	first.befell(network, begun, time.Now(), "with two nodes of five away")
	return nil
}

// playMajorityDown takes three nodes of five away, and they stay away.
func playMajorityDown(ctx context.Context, p *play) error {
	first, begun, err := p.withoutQuorum(ctx)
	if err != nil {
		return err
	}
	first.befell(network, begun, time.Now(), "with three nodes of five away")
	return nil
}

// playQuorumReturns takes three nodes of five away, and two of them come back: a fresh request now needs those that
// stayed, and what a failed acquire left on them would be in its way.
func playQuorumReturns(ctx context.Context, p *play) error {
	first, begun, err := p.withoutQuorum(ctx)
	if err != nil {
		return err
	}
	first.befell(network, begun, time.Now(), "with three nodes of five away")
	p.probes = []int{b}
	return p.harmAll(nodes(1, 2), Wire.Mend)
}

// withoutQuorum takes three nodes of five away from both instances, and lets a try.
func (p *play) withoutQuorum(ctx context.Context) (first *pending, begun time.Time, err error) {
	if err := p.opening(ctx); err != nil {
		return nil, begun, err
	}
	begun = time.Now()
	if err := errors.Join(p.harmAll(nodes(1, 2), Wire.Cut), p.harmAll(nodes(3, 3), Wire.LoseCommands)); err != nil {
		return nil, begun, err
	}
	first = p.order(ctx, a, "1", shop.Order{})
	return first, begun, first.answered(ctx)
}
