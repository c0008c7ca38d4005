package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/attack"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/shop"
)

// within bounds every barrier. What has not come to pass by then will not, and the cell could not be run.
const within = 5 * time.Second

// play is one cell of a fault scenario while it is performed. Each step waits until it is known that the one before
// it has come to pass: that an order is held at its point, that a process stands still or is gone. Nothing is slept for.
type play struct {
	*Runner
	cell *history.Cell
	rung catalog.Rung
	// orders are all that were sent, by number.
	orders []*pending
	// probes is where fresh requests go at the end, and nested whether they take the lock once more.
	probes []int
	nested bool
	// second is a second product, where there is one.
	second string
}

// pending is an order under way.
type pending struct {
	*play
	shop.Order
	at   int // the number of its instance
	done chan struct{}
	op   history.Op // once done is closed
}

// perform plays the scenario's part before the probes, sends those, and then waits for whatever is still under way.
func (r *Runner) perform(ctx context.Context, c *history.Cell, spec catalog.Spec) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &play{Runner: r, cell: c, rung: spec.Rung, probes: everywhere(c)}
	defer p.watch()()
	err := injections[spec.Scenario.Name](ctx, p)
	if err == nil {
		err = r.probe(ctx, c, p.probes, p.nested)
	}
	for _, o := range p.orders {
		if err == nil {
			err = o.answered(ctx)
		}
	}
	if err != nil {
		cancel()
	}
	for _, o := range p.orders {
		<-o.done
		err = errors.Join(err, c.Add(&o.op))
	}
	p.clear(ctx)
	c.Elapsed = time.Since(c.Start)
	return err
}

// watch looks at the heart while the cell is played, and notes what the client saw of itself.
func (p *play) watch() (end func()) {
	var heart *attack.Watch
	if p.Heart != nil {
		heart = p.Heart.Watch()
	}
	return func() {
		p.cell.Client = attack.ClientOf(p.cell.Ops)
		p.cell.Client.Loop = "closed" // each step waits for the one before it
		if heart != nil {
			p.cell.Client.Away, p.cell.Client.Longest = heart.Stop()
		}
	}
}

// opening sells one unit on each instance, to show that the rung works while nothing is wrong with it. It also makes
// the connections and loads the scripts that the fault is not to wait for.
func (p *play) opening(ctx context.Context) error {
	for i, in := range p.cell.Instances {
		o := p.order(ctx, i, "opening-"+in.Name, shop.Order{})
		if err := o.answered(ctx); err != nil {
			return err
		}
	}
	return nil
}

// order sends an order for one unit to an instance and returns at once. Of what it asks for, with names only what is
// not as in the rest of the cell.
func (p *play) order(ctx context.Context, at int, id string, with shop.Order) *pending {
	return p.send(ctx, at, id, history.Buy, with)
}

// send sends an order for whatever phase.
func (p *play) send(ctx context.Context, at int, id string, phase history.Phase, with shop.Order) *pending {
	o := &pending{play: p, Order: p.Runner.order(p.cell, id, 1), at: at, done: make(chan struct{})}
	o.Fault, o.Work, o.Wait = with.Fault, with.Work, max(o.Wait, with.Wait)
	o.Caller, o.Nested, o.Items = with.Caller, with.Nested, with.Items
	if phase == history.Reading {
		o.Reads, o.Quantity = true, 0
	}
	o.Patience = o.Wait + o.Work + patience
	p.orders = append(p.orders, o)
	go func() {
		defer close(o.done)
		due := time.Now()
		o.op = p.buy(ctx, p.cell, p.cell.Start, at, phase, o.Order)
		o.op.Due, o.op.Latency = history.At(p.cell.Start, due), time.Since(due)
		p.Sent.Add(1)
	}()
	return o
}

// answered waits until the order is over, one way or another.
func (o *pending) answered(ctx context.Context) error {
	select {
	case <-o.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// over reports whether the order was answered.
func (o *pending) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// held waits until the order is known to stand at the point of its fault.
func (o *pending) held(ctx context.Context) error {
	in, err := o.heldOrAnswered(ctx)
	if err == nil && !in {
		err = fmt.Errorf("order %s was to be held (%s), but was answered: %s %s", o.ID, o.Fault, o.op.Outcome, o.op.Detail)
	}
	return err
}

// heldOrAnswered waits until the order is held, and reports true, or is over without ever having got there.
func (o *pending) heldOrAnswered(ctx context.Context) (held bool, err error) {
	err = o.until(ctx, func() (bool, error) {
		if o.over() {
			return true, nil
		}
		orders, err := o.Client.Held(ctx, o.url())
		held = slices.Contains(orders, o.ID)
		return held, err
	})
	return held, err
}

// letGo lets the held order go on.
func (o *pending) letGo(ctx context.Context) error { return o.Client.LetGo(ctx, o.url(), o.ID) }

// stop makes the order's process stand still.
func (o *pending) stop(ctx context.Context) error {
	if err := o.World.Processes[o.at].Stop(); err != nil {
		return err
	}
	return o.stopped(ctx)
}

// stopped waits until the order's process stands still.
func (o *pending) stopped(ctx context.Context) error {
	return o.until(ctx, o.World.Processes[o.at].Stopped)
}

// resume lets the order's process go on.
func (o *pending) resume() error { return o.World.Processes[o.at].Continue() }

// died waits for the end of the order's process, and of the order with it. An order whose process died before it sent
// the stock's write is not of unknown outcome: it is not sold.
func (o *pending) died(ctx context.Context, gone <-chan struct{}) error {
	if err := o.until(ctx, func() (bool, error) {
		select {
		case <-gone:
			return true, nil
		default:
			return false, nil
		}
	}); err != nil {
		return err
	}
	if err := o.answered(ctx); err != nil {
		return err
	}
	if o.op.Outcome == history.Unknown {
		o.op.Outcome, o.op.Done = history.NotSold, history.At(o.cell.Start, time.Now())
		o.op.Detail = fmt.Sprintf("%s was killed (%s) before this order's write of the stock was sent; %s",
			o.cell.Instances[o.at].Name, o.Fault, o.op.Detail)
	}
	return nil
}

// until asks again and again until it is so.
func (o *pending) until(ctx context.Context, so func() (bool, error)) error {
	for begun := time.Now(); ; {
		yes, err := so()
		if yes || err != nil {
			return err
		}
		if bound := within + 2*o.slack(); time.Since(begun) > bound {
			return fmt.Errorf("order %s (%s): the fault did not come to pass within %s", o.ID, o.Fault, bound.Round(time.Millisecond))
		}
		if !sleep(ctx, 2*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

func (o *pending) url() string { return o.cell.Instances[o.at].URL }

// suffered writes down what was done to the order since then.
func (o *pending) suffered(since time.Time, format string, args ...any) {
	o.cell.Faults = append(o.cell.Faults, history.Fault{
		Order: o.ID, Instance: o.cell.Instances[o.at].Name, Text: fmt.Sprintf(format, args...),
		At: history.At(o.cell.Start, since), End: history.At(o.cell.Start, time.Now()),
	})
}

// stoodStill is suffered by an order whose process was stopped since then.
func (o *pending) stoodStill(since time.Time, format string, args ...any) {
	o.suffered(since, format, args...)
	o.cell.Faults[len(o.cell.Faults)-1].Stopped = true
}

// befell writes down what happened around the order, to the network or to servers, between two moments.
func (o *pending) befell(on string, begun, ended time.Time, format string, args ...any) {
	o.cell.Faults = append(o.cell.Faults, history.Fault{
		Order: o.ID, Instance: o.cell.Instances[o.at].Name, On: on, Text: fmt.Sprintf(format, args...),
		At: history.At(o.cell.Start, begun), End: history.At(o.cell.Start, ended),
	})
}

// span puts a duration into words as stories do.
func span(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
