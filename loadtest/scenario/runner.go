package scenario

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

// probeMargin is the time beyond the TTL after which a lock counts as stuck if no fresh request acquired it.
const probeMargin = 5 * time.Second

// faultMargin is the same under faults, where no crowd contends.
const faultMargin = time.Second

// limit is the time within which a fresh request has to get through.
func limit(s catalog.Scenario, ttl, slack time.Duration) time.Duration {
	switch {
	case s.Within > 0:
		return s.Within
	case s.Fault():
		return ttl + faultMargin + slack
	}
	return ttl + probeMargin + slack
}

// maxSlack bounds slack.
const maxSlack = 5 * time.Second

// slack returns the extra time that a step may take, given the recent scheduling delays: a step makes some ten hops,
// each of which may be delayed once.
func (r *Runner) slack() time.Duration {
	return min(10*r.Stalls.Recent(), maxSlack)
}

// AnswerMargin is the time beyond all wait and work after which an answer counts as lost.
const AnswerMargin = 10 * time.Second

// A Runner runs cells on instances that were started elsewhere.
type Runner struct {
	Client *client.Client
	Load   history.Load
	// Stalls measures this process's scheduling delays; nil for none.
	Stalls *load.StallMeter
	// Targets are for faults to act on; nil if the instances are foreign.
	Targets *FaultTargets
	// Shelf reads the stock from its store, since killed instances cannot; nil if only instances can reach it.
	Shelf func(context.Context) (int64, error)
}

// Run runs one cell, from filling the stock to the verdicts, on the instances at these URLs. An error means that the
// cell could not be run. A rung that breaks is a finding, not an error.
func (r *Runner) Run(ctx context.Context, spec catalog.Spec, product string, urls []string) (*history.Cell, error) {
	if spec.Scenario.Fault() {
		with := *r
		r, with.Load = &with, faultLoad
		r.Load.TTL = spec.Scenario.Lease()
		r.Load.Wait *= time.Duration(max(1, spec.Patience()))
	}
	c := spec.NewCell(product)
	c.Initial, c.TTL, c.Longer, c.Start = r.Load.Stock, r.Load.TTL, spec.Patience(), time.Now()
	c.Limit = limit(spec.Scenario, r.Load.TTL, r.slack())
	return c, r.Play(ctx, c, urls, func(ctx context.Context) error { return r.runLoad(ctx, c, spec) })
}

// Play runs a cell whose orders are sent by play: it fills the stock before, and judges the cell afterwards.
func (r *Runner) Play(ctx context.Context, c *history.Cell, urls []string, play func(context.Context) error) error {
	if err := r.identify(ctx, c, urls); err != nil || c.NotTested != nil {
		return err
	}
	if err := r.Client.SetStock(ctx, c.Instances[0].URL, c.Product, c.Initial); err != nil {
		return fmt.Errorf("cannot put %s on the shelf: %w", c.Product, err)
	}
	if err := play(ctx); err != nil {
		return err
	}
	r.resolve(ctx, c)
	r.readClocksAgain(ctx, c)
	r.readLeft(ctx, c)
	c.Findings, c.Coverage = audit.Judge(c, history.TimelineOf(c, catalog.TermsOf(c)))
	return ctx.Err()
}

// Send sends an order for one unit of the cell's product to the instance with this number, and waits for its answer.
// With has its maximal wait, its fault, and its work if that is not the load's.
func (r *Runner) Send(ctx context.Context, c *history.Cell, to int, id string, with client.Order) history.Op {
	o := r.order(c, id, 1)
	o.Timeout, o.Fault, o.Work = with.Timeout, with.Fault, cmp.Or(with.Work, o.Work)
	return r.buy(ctx, c, c.Start, time.Now(), to, history.Buy, o)
}

// runLoad runs the crowd, or injects the faults. A fault that did not happen does not end the run: it is a surprise of
// its cell.
func (r *Runner) runLoad(ctx context.Context, c *history.Cell, spec catalog.Spec) error {
	if !spec.Scenario.Fault() {
		return r.burst(ctx, c)
	}
	err := r.runFault(ctx, c, spec)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.Aborted = err.Error()
	}
	return nil
}

// identify asks each instance for its name, its clock, and whether it can serve the rung.
func (r *Runner) identify(ctx context.Context, c *history.Cell, urls []string) error {
	for _, url := range urls {
		asked := time.Now()
		ladder, err := r.Client.Ladder(ctx, url)
		if err != nil {
			return err
		}
		in := history.Instance{Name: cmp.Or(ladder.Instance, url), URL: url, Clock: ladder.Clock, Build: ladder.Build}
		in.Offsets = offsets(ladder, c.Start, asked, time.Now())
		rung, known := ladder.Rung(c.Rung)
		switch {
		case !known:
			c.NotTested = &history.NotTested{
				Reason: fmt.Sprintf("needs an instance that knows %s: %s does not", c.Rung, in.Name)}
		case !rung.Available:
			needs := cmp.Or(strings.Join(rung.Asks, " or "), strings.Join(rung.Needs, " and "))
			c.NotTested = &history.NotTested{Reason: "needs " + needs}
		}
		c.Instances = append(c.Instances, in)
	}
	return nil
}

// readClocksAgain reads the clocks of the instances that are still up, to detect steps during the cell.
func (r *Runner) readClocksAgain(ctx context.Context, c *history.Cell) {
	for i := range c.Instances {
		in := &c.Instances[i]
		asked := time.Now()
		if ladder, err := r.Client.Ladder(ctx, in.URL); err == nil && cmp.Or(ladder.Instance, in.URL) == in.Name {
			in.Offsets = append(in.Offsets, offsets(ladder, c.Start, asked, time.Now())...)
		}
	}
}

// offsets returns the bounds of how far an instance's clock was ahead of ours between two times, if it reported its
// time. Ours is the wall clock at the start of the cell plus the monotonic clock: the instance may read the same wall
// clock, and a step of that has to show. The reported time may be truncated after some digit.
func offsets(l *client.Ladder, start, asked, answered time.Time) []history.Offset {
	if l.Now.IsZero() {
		return nil
	}
	cut := time.Second
	for cut > 1 && l.Now.Nanosecond()%int(cut) != 0 {
		cut /= 10
	}
	since := l.Now.Round(0).Sub(start.Round(0))
	return []history.Offset{{Least: since - answered.Sub(start), Most: since + cut - asked.Sub(start)}}
}

// faultLoad is the load of a fault scenario, under the scenario's lease. A hold or a stop stays below a second, which
// is the service's limit for a release.
var faultLoad = history.Load{Stock: 100, Wait: 300 * time.Millisecond}

// burst sends a crowd of orders, spread evenly over the instances, and counts their Redis commands.
func (r *Runner) burst(ctx context.Context, c *history.Cell) error {
	before, counted := r.commands(ctx, c)
	result, err := load.Run(ctx, load.Plan{
		Requests: r.Load.Requests, Concurrency: r.Load.Concurrency, Rate: r.Load.Rate,
		WarmUp: func(ctx context.Context, worker int) func() {
			return r.Client.Warm(ctx, c.Instances[worker%len(c.Instances)].URL)
		},
		Stalls: r.Stalls,
		Send: func(ctx context.Context, start, due time.Time, i int) history.Op {
			return r.buy(ctx, c, start, due, i%len(c.Instances), history.Buy, r.order(c, strconv.Itoa(i+1), 1))
		},
	})
	if err != nil {
		return err
	}
	c.Start, c.Elapsed, c.Ops = result.Start, result.Elapsed, result.Ops
	c.Latency, c.Client = result.Latency, result.Client
	if after, ok := r.commands(ctx, c); ok && counted {
		sent := after - before
		c.Commands = &sent
	}
	return r.Probe(ctx, c, everywhere(c), false)
}

func everywhere(c *history.Cell) []int {
	all := make([]int, len(c.Instances))
	for i := range all {
		all[i] = i
	}
	return all
}

// buy sends one order to one instance. An op without an instance's name gets the name of that instance.
func (r *Runner) buy(ctx context.Context, c *history.Cell, start, due time.Time, to int, phase history.Phase,
	o client.Order) history.Op {
	op := r.Client.Buy(ctx, start, due, c.Instances[to].URL, o)
	op.Phase = phase
	r.Targets.nameServers(&op)
	if op.Instance == "" {
		op.Instance = c.Instances[to].Name
	}
	return op
}

// order returns an order of this cell. Its id begins with the product's name, to be unique in the logs of instances
// that serve many cells.
func (r *Runner) order(c *history.Cell, id string, quantity int64) client.Order {
	return client.Order{
		ID: c.Product + "-" + id, Rung: c.Rung, Product: c.Product, Quantity: quantity,
		Wait: r.Load.Wait, TTL: r.Load.TTL, Work: r.Load.Work, Timeout: r.Load.Wait + r.Load.Work + AnswerMargin,
	}
}

func (r *Runner) commands(ctx context.Context, c *history.Cell) (sum int64, ok bool) {
	for _, in := range c.Instances {
		n, err := r.Client.Commands(ctx, in.URL)
		if err != nil {
			return 0, false
		}
		sum += n
	}
	return sum, true
}
