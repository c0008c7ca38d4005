package replay

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/schedule"
)

// A replay holds the servers, wires and instances of one replay.
type replay struct {
	*Environment
	trace schedule.Trace
	rung  catalog.Rung
	times times

	gate    *gate
	rig     *rig.Rig
	stores  []*store // the first keeps the stock, the others the locks
	clients []*participant
	client  *client.Client
}

// start starts the servers, then the wires and the instances. The gate is open meanwhile.
func (r *replay) start(ctx context.Context) (err error) {
	r.gate, r.client = newGate(r.Scripts), client.New(4, "")
	names := []string{"stock", "lock"}
	if r.rung.OnNodes() {
		names = append(names[:1], "1", "2", "3")
	}
	r.rig, err = r.Start(ctx, rig.Plan{Gate: r.gate.Gate, Servers: names, Nodes: r.rung.OnNodes(),
		Ends: r.trace.Clients(), Held: held, Retry: r.times.retry, Lost: r.times.lost})
	for _, one := range r.rig.Stores {
		r.stores = append(r.stores, &store{one, map[string]string{}})
	}
	for _, c := range r.rig.Ends {
		r.clients = append(r.clients, &participant{End: c})
	}
	return err
}

// close stops the instances, the wires and the servers.
func (r *replay) close() {
	r.client.Close()
	r.rig.Close()
}

// play plays the trace, from filling the shelf to the verdicts.
func (r *replay) play(ctx context.Context, longer float64, show func(Line)) (*history.Cell, error) {
	cell := &history.Cell{Kind: history.Replay, Scenario: r.trace.String(), Rung: r.rung.Number, Name: r.rung.Name,
		Repetition: 1, Product: product, Initial: Stock, TTL: r.times.lease, Limit: r.times.within,
		Start: time.Now()}
	if longer > 1 {
		cell.Longer = longer
	}
	wait, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	runner := &scenario.Runner{Client: r.client, Targets: &scenario.FaultTargets{Behind: r.rig.Behind()},
		Load: history.Load{Stock: cell.Initial, Wait: wait, TTL: r.times.lease}}
	for i, c := range r.clients {
		id := strings.ToLower(schedule.Person(i))
		c.order = rig.NewInFlight(product+"-"+id, i)
		c.buy = func(ctx context.Context) history.Op {
			return runner.Send(ctx, cell, i, id, client.Order{Timeout: held})
		}
	}
	p := &player{trace: r.trace, times: r.times, gate: r.gate, clients: r.clients, stock: r.stores[0],
		nodes: r.stores[1:], cell: cell, show: show}
	p.rig = &rig.Player{Rig: r.rig, User: p}
	err = runner.Play(ctx, cell, r.rig.URLs(), func(ctx context.Context) error {
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
		cell.Ops = append(cell.Ops, p.end()...)
		for i := range cell.Instances { // they read our clock, and late commands arrived after the answer
			cell.Instances[i].Offsets = append(cell.Instances[i].Offsets, history.Offset{})
		}
		cell.Elapsed = time.Since(cell.Start)
		return err
	})
	if err == nil && cell.NotTested != nil {
		err = cluster.Needs(cell.WhyNot())
	}
	return cell, err
}

// wait returns how long an order waits for the lock.
func (r *replay) wait(ctx context.Context) (time.Duration, error) {
	if r.rung.OnNodes() {
		return 0, nil
	}
	ladder, err := r.client.Ladder(ctx, r.clients[0].In.URL)
	if err != nil {
		return 0, err
	}
	rung, known := ladder.Rung(r.rung.Number)
	if !known {
		return 0, fmt.Errorf("this stockapi has no rung %s", r.rung.Number)
	}
	wait, err := time.ParseDuration(string(rung.Wait))
	return min(wait, r.times.wait), err
}
