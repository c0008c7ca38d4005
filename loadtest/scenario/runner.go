package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stockapi/loadtest/attack"
	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/join"
	"stockapi/loadtest/shop"
)

// margin is what a fresh request may take beyond the TTL before the lock counts as stuck.
const margin = 5 * time.Second

// faultMargin is the same where a single request is refused and nobody else is in the way.
const faultMargin = time.Second

// limit is how soon a fresh request has to get through.
func limit(s catalog.Scenario, ttl, slack time.Duration) time.Duration {
	switch {
	case s.Within > 0:
		return s.Within
	case s.Fault():
		return ttl + faultMargin + slack
	}
	return ttl + margin + slack
}

// maxSlack bounds what a busy machine is given.
const maxSlack = 5 * time.Second

// slack is what every step may take longer, by what the machine has shown lately: some ten steps make a way, and each
// may be held up once.
func (r *Runner) slack() time.Duration {
	if r.Heart == nil {
		return 0
	}
	return min(10*r.Heart.Lately(), maxSlack)
}

// patience is what an answer may take beyond all that it was asked to wait for, before it counts as lost.
const patience = 10 * time.Second

// Runner runs cells on instances that somebody else started.
type Runner struct {
	Client *shop.Client
	Load   history.Load
	Seed   uint64
	// Sent counts the requests that have returned in the current cell, for a progress line.
	Sent *atomic.Int64
	// Heart tells whether this process gets the processor; nil if nobody asks.
	Heart *attack.Heart
	// World is what the faults are brought upon.
	World *World
	// Spool keeps the orders of crowds.
	Spool *history.Spool
	// Joint is the cell as the other load generators take part in it; nil if there are no others.
	Joint *join.Cell
}

// Run runs one cell, from the full shelf to the verdicts, on the instances at these URLs. An error means that the
// cell could not be run; that the rung does not hold is no error but a finding.
func (r *Runner) Run(ctx context.Context, spec catalog.Spec, product string, urls []string) (*history.Cell, error) {
	if spec.Scenario.Fault() {
		r = &Runner{Client: r.Client, Seed: r.Seed, Sent: r.Sent, Heart: r.Heart, World: r.World, Load: faultLoad}
		r.Load.TTL = spec.Scenario.Lease()
		r.Load.Wait *= time.Duration(max(1, spec.Patience()))
	}
	c := &history.Cell{
		Scenario: spec.Scenario.Name, Rung: spec.Rung.Number, Name: spec.Rung.Name, Repetition: spec.Repetition,
		Product: product, Initial: r.Load.Stock, TTL: r.Load.TTL, Limit: limit(spec.Scenario, r.Load.TTL, r.slack()),
		Start: time.Now(), NotRun: r.Joint.NotRun(), Longer: spec.Patience(),
	}
	if err := r.introduce(ctx, c, urls); err != nil {
		return c, err
	}
	if err := r.fill(ctx, c); err != nil || c.NotRun != "" {
		return c, err
	}
	if err := r.load(ctx, c, spec); err != nil {
		return nil, err
	}
	r.resolve(ctx, c)
	r.clocksAgain(ctx, c)
	r.countUp(ctx, c)
	c, err := r.Joint.Merge(ctx, c)
	if err != nil {
		return nil, err
	}
	c.Findings, c.Coverage = audit.Judge(c)
	return c, ctx.Err()
}

// fill puts the product on the shelf, if the cell takes place. Where several run it together, that is done once, and
// each looks whether all of its instances have it: those that sell from shelves of their own never sell each other's
// units.
func (r *Runner) fill(ctx context.Context, c *history.Cell) error {
	if r.Joint.First() && c.NotRun == "" {
		if err := r.Client.SetStock(ctx, c.Instances[0].URL, c.Product, c.Initial); err != nil {
			return fmt.Errorf("cannot put %s on the shelf: %w", c.Product, err)
		}
	}
	if err := r.Joint.Agree(ctx, c); err != nil || c.NotRun != "" || r.Joint == nil {
		return err
	}
	for _, in := range c.Instances {
		if there, err := r.Client.Stock(ctx, in.URL, c.Product); err != nil || there != c.Initial {
			return errors.Join(fmt.Errorf("%s does not have what the first party put on its shelf: do all keep the stock on one Redis?", in.URL), err)
		}
	}
	return nil
}

// load brings the crowd, or the fault, upon the cell. A fault that did not come to pass is no reason to give up the
// others: it is a surprise of its cell.
func (r *Runner) load(ctx context.Context, c *history.Cell, spec catalog.Spec) error {
	if !spec.Scenario.Fault() {
		return r.burst(ctx, c)
	}
	err := r.perform(ctx, c, spec)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.CutShort = err.Error()
	}
	return nil
}

// introduce asks each instance for its name, its clock, and whether it can serve the rung at all.
func (r *Runner) introduce(ctx context.Context, c *history.Cell, urls []string) error {
	for _, url := range urls {
		asked := time.Now()
		ladder, err := r.Client.Ladder(ctx, url)
		if err != nil {
			return err
		}
		in := history.Instance{Name: ladder.Instance, URL: url, Clock: ladder.Clock, Build: ladder.Build}
		in.Offsets = offsets(ladder, asked, time.Now())
		rung, known := ladder.Rung(c.Rung)
		switch {
		case !known:
			c.NotRun = fmt.Sprintf("needs an instance that knows %s: %s does not", c.Rung, ladder.Instance)
		case !rung.Available:
			c.NotRun = "needs " + strings.Join(rung.Needs, " and ")
		}
		c.Instances = append(c.Instances, in)
	}
	return nil
}

// clocksAgain asks the instances that are still there what their clocks show, to learn whether any was set meanwhile.
func (r *Runner) clocksAgain(ctx context.Context, c *history.Cell) {
	for i := range c.Instances {
		in := &c.Instances[i]
		asked := time.Now()
		if ladder, err := r.Client.Ladder(ctx, in.URL); err == nil && ladder.Instance == in.Name {
			in.Offsets = append(in.Offsets, offsets(ladder, asked, time.Now())...)
		}
	}
}

// offsets is by how much an instance's clock was ahead of ours between the two moments, if it told.
func offsets(l *shop.Ladder, asked, told time.Time) []history.Offset {
	if l.Now.IsZero() {
		return nil
	}
	now := l.Now.Round(0)
	return []history.Offset{{Least: now.Sub(told.Round(0)), Most: now.Sub(asked.Round(0))}}
}

// faultLoad is what the orders of a fault scenario ask for, under the scenario's lease. What an order is held or
// stopped for stays below a second: that is how long the service gives a release that it has begun.
var faultLoad = history.Load{Stock: 100, Wait: 300 * time.Millisecond}

// burst sends the buyers, spread evenly over the instances, and counts what Redis had to do for them.
func (r *Runner) burst(ctx context.Context, c *history.Cell) error {
	before, counted := r.commands(ctx, c)
	c.Keep(r.Spool)
	r.Sent.Store(0)
	var gate shop.Gate
	result, err := attack.Run(ctx, attack.Plan{
		Requests: r.Load.Requests, Concurrency: r.Load.Concurrency, Rate: r.Load.Rate, Seed: r.Seed, Done: r.Sent,
		Warm: func(ctx context.Context, worker int) {
			_ = r.Client.Alive(ctx, c.Instances[worker%len(c.Instances)].URL) // the order itself will tell
		},
		Begin: r.Joint.Begin, Heart: r.Heart, Open: gate.Open, Keep: c.Add,
		First: func(ctx context.Context, ready func(), start func() time.Time, i int) history.Op {
			to := i % len(c.Instances)
			op := r.Client.BuyAt(ctx, &gate, ready, start, c.Instances[to].URL, r.numbered(c, i))
			return r.filed(op, c, to, history.Buy)
		},
		Send: func(ctx context.Context, start time.Time, i int) history.Op {
			return r.buy(ctx, c, start, i%len(c.Instances), history.Buy, r.numbered(c, i))
		},
	})
	if err != nil {
		return err
	}
	c.Start, c.Elapsed, c.Latency, c.Client = result.Start, result.Elapsed, result.Latency, result.Client
	if err := r.Joint.Sold(ctx); err != nil {
		return err
	}
	if after, ok := r.commands(ctx, c); ok && counted {
		sent := after - before
		c.Commands = &sent
	}
	if !r.Joint.First() {
		return nil
	}
	return r.probe(ctx, c, everywhere(c), false)
}

func everywhere(c *history.Cell) []int {
	all := make([]int, len(c.Instances))
	for i := range all {
		all[i] = i
	}
	return all
}

// buy sends one order to one instance and files the op under who was asked, unless the answer says who it was.
func (r *Runner) buy(ctx context.Context, c *history.Cell, start time.Time, to int, phase history.Phase, o shop.Order) history.Op {
	return r.filed(r.Client.Buy(ctx, start, c.Instances[to].URL, o), c, to, phase)
}

// filed completes an op that was sent to the instance of that number.
func (r *Runner) filed(op history.Op, c *history.Cell, to int, phase history.Phase) history.Op {
	op.Phase = phase
	r.World.unwire(&op)
	if op.Instance == "" {
		op.Instance = c.Instances[to].Name
	}
	return op
}

// order makes an order of this cell. Its id begins with the product's name, so that it is unique in the logs of
// instances that serve many cells.
func (r *Runner) order(c *history.Cell, id string, quantity int64) shop.Order {
	return shop.Order{
		ID: c.Product + "-" + id, Rung: c.Rung, Product: c.Product, Quantity: quantity,
		Wait: r.Load.Wait, TTL: r.Load.TTL, Work: r.Load.Work, Patience: r.Load.Wait + r.Load.Work + patience,
	}
}

// numbered is order number i of a crowd, from 0, for one unit.
func (r *Runner) numbered(c *history.Cell, i int) shop.Order {
	return r.order(c, r.Joint.Prefix()+strconv.Itoa(i+1), 1)
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
