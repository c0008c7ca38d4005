package replay

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A replay holds the servers, wires and instances of one replay.
type replay struct {
	*Environment
	trace schedule.Trace
	rung  catalog.Rung
	times times

	gate      *gate
	redises   []*cluster.Redis
	stores    []*store // the first keeps the stock, the others the locks
	clients   []*participant
	instances []*cluster.Instance
	client    *client.Client
}

// start starts the servers, then the wires and the instances. The gate is open meanwhile.
func (r *replay) start(ctx context.Context) error {
	r.gate, r.client = newGate(r.scripts), client.New(4, "")
	names := []string{"stock", "lock"}
	if r.rung.OnNodes() {
		names = append(names[:1], "1", "2", "3")
	}
	var err error
	r.redises, err = cluster.StartAll(ctx, len(names), func(ctx context.Context, i int) (*cluster.Redis, error) {
		return r.cluster.StartRedis(ctx, r.servers, "server "+names[i]+" of a replay")
	})
	if err != nil {
		return err
	}
	for i, name := range names {
		one, err := newStore(i, name, r.redises[i].URL)
		if err != nil {
			return err
		}
		r.stores = append(r.stores, one)
	}
	return r.startInstances(ctx)
}

func (r *replay) startInstances(ctx context.Context) (err error) {
	reached := make([]*cluster.Backend, r.trace.Clients())
	for i := range reached {
		c := &participant{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}, done: make(chan struct{})}
		r.clients = append(r.clients, c)
		if reached[i], err = r.wire(c); err != nil {
			return err
		}
	}
	r.instances, err = cluster.StartAll(ctx, len(reached), func(ctx context.Context, i int) (*cluster.Instance, error) {
		return r.cluster.StartInstance(ctx, r.clients[i].Name, reached[i], false, r.flags()...)
	})
	return err
}

// flags are those of the instances. A command that waits at a wire must not time out.
func (r *replay) flags() []string {
	return []string{"--redis-timeout", held.String(), "--redlock-timeout", nodeTime.String(),
		"--retry", r.times.retry.String(), "--redlock-retry", r.times.retry.String()}
}

// wire starts the wires of an instance, and returns the servers as it reaches them.
func (r *replay) wire(c *participant) (*cluster.Backend, error) {
	reached := *r.servers
	reached.SQL, reached.ZooKeeper, reached.Redlock = "", "", nil
	for _, one := range r.stores {
		w, err := wire.New(r.gate.Gate, &c.Client, one.Server, r.times.lost)
		if err != nil {
			return nil, err
		}
		c.wires = append(c.wires, w)
		at := (&url.URL{Scheme: "redis", User: url.UserPassword("", one.Redis.Options().Password), Host: w.Host()}).String()
		switch {
		case one.Index == 0:
			reached.URL = at
		case r.rung.OnNodes():
			reached.Redlock = append(reached.Redlock, at)
		default:
			reached.Locks = at
		}
	}
	return &reached, nil
}

// close ends the instances, the wires and the servers.
func (r *replay) close() {
	r.client.Close()
	cluster.Kill(r.instances)
	var all sync.WaitGroup
	for _, c := range r.clients {
		for _, w := range c.wires {
			all.Go(w.Close)
		}
	}
	all.Wait()
	for _, one := range r.stores {
		_ = one.Redis.Close()
	}
	for _, server := range r.redises {
		all.Go(server.Kill)
	}
	all.Wait()
}

// play plays the trace, from filling the shelf to the verdicts.
func (r *replay) play(ctx context.Context, longer float64, show func(Line)) (*history.Cell, error) {
	cell := &history.Cell{Scenario: history.ReplayOf(r.trace.String()), Rung: r.rung.Number, Name: r.rung.Name,
		Repetition: 1, Product: product, Initial: Stock, TTL: r.times.lease, Limit: r.times.within,
		Start: time.Now()}
	if longer > 1 {
		cell.Longer = longer
	}
	wait, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	behind := map[string]string{}
	runner := &scenario.Runner{Client: r.client, Targets: &scenario.FaultTargets{Behind: behind},
		Load: history.Load{Stock: cell.Initial, Wait: wait, TTL: r.times.lease}}
	var urls []string
	for i, c := range r.clients {
		in := r.instances[i]
		urls = append(urls, in.URL)
		c.pid, c.kill = in.Pid(), in.Kill
		c.buy = func(ctx context.Context) history.Op {
			return runner.Send(ctx, cell, i, c.order(), client.Order{Timeout: held})
		}
		for _, w := range c.wires {
			behind[w.Host()] = w.Server.Host
		}
	}
	p := &player{trace: r.trace, times: r.times, gate: r.gate, clients: r.clients, stock: r.stores[0],
		nodes: r.stores[1:], start: cell.Start, show: show,
		fault: func(f history.Fault) { cell.Faults = append(cell.Faults, f) }}
	err = runner.Play(ctx, cell, urls, func(ctx context.Context) error {
		r.gate.begin()
		err := p.play(ctx)
		var probes []int
		if err == nil {
			probes, err = p.finish(ctx)
		}
		if err == nil && len(probes) > 0 {
			err = runner.Probe(ctx, cell, probes, false)
		}
		r.gate.OpenAll()
		for _, op := range p.end() {
			err = errors.Join(err, cell.Add(&op))
		}
		cell.Elapsed = time.Since(cell.Start)
		return err
	})
	if err == nil && cell.NotRun != "" {
		err = errors.New(cell.NotRun)
	}
	return cell, err
}

// wait returns how long an order waits for the lock.
func (r *replay) wait(ctx context.Context) (time.Duration, error) {
	if r.rung.OnNodes() {
		return 0, nil
	}
	ladder, err := r.client.Ladder(ctx, r.instances[0].URL)
	if err != nil {
		return 0, err
	}
	rung, known := ladder.Rung(r.rung.Number)
	if !known {
		return 0, fmt.Errorf("this stockapi does not know %s", r.rung.Number)
	}
	wait, err := time.ParseDuration(rung.Wait)
	return min(wait, r.times.wait), err
}
