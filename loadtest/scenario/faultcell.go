package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
)

// barrierTimeout bounds every wait of a step. A fault that did not happen by then will not happen, and the cell cannot
// be run to its end.
const barrierTimeout = 5 * time.Second

// A faultCell is one cell of a fault scenario while it runs. Each step waits until the step before it is known to have
// happened: that an order is held at its point, that a process is stopped or has exited. No step relies on a sleep.
type faultCell struct {
	*Runner
	cell *history.Cell
	rung catalog.Rung
	// session is the time for which a session of ZooKeeper's outlives its process.
	session time.Duration
	// orders are all orders that were sent.
	orders []*pending
	// probes are the numbers of the instances that get fresh requests at the end. With nested these take the lock once
	// more.
	probes []int
	nested bool
	// second is the name of a second product, if there is one.
	second string
	// mayRefuse reports whether the first order may be refused its lock, because its servers do not hear of each other.
	mayRefuse bool
}

// A pending is an order under way.
type pending struct {
	*faultCell
	client.Order
	at   int // the number of its instance
	done chan struct{}
	op   history.Op // once done is closed
}

// runFault injects the scenario's faults, sends the probes, and waits for all orders that are still under way.
func (r *Runner) runFault(ctx context.Context, c *history.Cell, spec catalog.Spec) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &faultCell{Runner: r, cell: c, rung: spec.Rung, session: spec.Scenario.SessionTimeout(), probes: everywhere(c)}
	defer f.watchStalls()()
	err := injections[spec.Scenario.Name](ctx, f)
	if err == nil {
		err = r.Probe(ctx, c, f.probes, f.nested)
	}
	for _, o := range f.orders {
		if err == nil {
			err = o.waitAnswered(ctx)
		}
	}
	if err != nil {
		cancel()
	}
	for _, o := range f.orders {
		<-o.done
		err = errors.Join(err, c.Add(&o.op))
	}
	f.clear(ctx)
	c.Elapsed = time.Since(c.Start)
	return err
}

// watchStalls measures scheduling delays while the cell runs. The returned function stores them with the client's other
// figures.
func (f *faultCell) watchStalls() (end func()) {
	var stalls *load.StallWatch
	if f.Stalls != nil {
		stalls = f.Stalls.Watch()
	}
	return func() {
		f.cell.Client = load.ClientOf(f.cell.Ops)
		f.cell.Client.Loop = "closed" // each step waits for the one before it
		if stalls != nil {
			f.cell.Client.Away, f.cell.Client.Longest = stalls.Stop()
		}
	}
}

// warmUp sells one unit on each instance, to show that the rung works without a fault. It also opens the connections
// and loads the scripts, so that the fault does not wait for them.
func (f *faultCell) warmUp(ctx context.Context) error {
	for i, in := range f.cell.Instances {
		o := f.order(ctx, i, "opening-"+in.Name, client.Order{})
		if err := o.waitAnswered(ctx); err != nil {
			return err
		}
	}
	return nil
}

// order sends an order for one unit to an instance and returns at once. Fields that are set in with override those that
// all orders of the cell share.
func (f *faultCell) order(ctx context.Context, at int, id string, with client.Order) *pending {
	return f.send(ctx, at, id, history.Buy, with)
}

// send sends an order of that phase.
func (f *faultCell) send(ctx context.Context, at int, id string, phase history.Phase, with client.Order) *pending {
	o := &pending{faultCell: f, Order: f.Runner.order(f.cell, id, 1), at: at, done: make(chan struct{})}
	o.Fault, o.Work, o.Wait = with.Fault, with.Work, max(o.Wait, with.Wait)
	o.Caller, o.Nested, o.Items, o.NoRenew = with.Caller, with.Nested, with.Items, with.NoRenew
	if phase == history.Reading {
		o.Reads, o.Quantity = true, 0
	}
	o.Timeout = o.Wait + o.Work + AnswerMargin
	f.orders = append(f.orders, o)
	go func() {
		defer close(o.done)
		o.op = f.buy(ctx, f.cell, f.cell.Start, time.Now(), at, phase, o.Order)
		f.Sent.Add(1)
	}()
	return o
}

// waitAnswered waits until the order has ended, with an answer or without.
func (o *pending) waitAnswered(ctx context.Context) error {
	select {
	case <-o.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answered reports whether the order has ended.
func (o *pending) answered() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// waitHeld waits until the order is held at the point of its fault. It fails if the order ends first.
func (o *pending) waitHeld(ctx context.Context) error {
	in, err := o.waitHeldOrAnswered(ctx)
	if err == nil && !in {
		err = fmt.Errorf("order %s was to be held (%s), but was answered: %s %s", o.ID, o.Fault, o.op.Outcome, o.op.Detail)
	}
	return err
}

// waitHeldOrAnswered waits until the order is held, and returns true, or has ended without being held.
func (o *pending) waitHeldOrAnswered(ctx context.Context) (held bool, err error) {
	err = o.waitUntil(ctx, func() (bool, error) {
		if o.answered() {
			return true, nil
		}
		orders, err := o.Client.HeldOrders(ctx, o.url())
		held = slices.Contains(orders, o.ID)
		return held, err
	})
	return held, err
}

// endHold ends the hold of the order.
func (o *pending) endHold(ctx context.Context) error { return o.Client.EndHold(ctx, o.url(), o.ID) }

// stop stops the order's process.
func (o *pending) stop(ctx context.Context) error {
	if err := o.Targets.Processes[o.at].Stop(); err != nil {
		return err
	}
	return o.waitStopped(ctx)
}

// waitStopped waits until the order's process is stopped.
func (o *pending) waitStopped(ctx context.Context) error {
	return o.waitUntil(ctx, o.Targets.Processes[o.at].Stopped)
}

// resume continues the order's process.
func (o *pending) resume() error { return o.Targets.Processes[o.at].Continue() }

// waitDied waits until the order's process and the order have ended. The outcome of an order whose process died before
// it sent the write of the stock is not unknown: it is not sold.
func (o *pending) waitDied(ctx context.Context, gone <-chan struct{}) error {
	if err := o.waitUntil(ctx, func() (bool, error) {
		select {
		case <-gone:
			return true, nil
		default:
			return false, nil
		}
	}); err != nil {
		return err
	}
	if err := o.waitAnswered(ctx); err != nil {
		return err
	}
	if o.op.Outcome == history.Unknown {
		o.op.Outcome, o.op.Done = history.NotSold, o.op.Due+history.Instant(o.op.Latency)
		o.op.Detail = fmt.Sprintf("%s was killed (%s) before this order's write of the stock was sent; %s",
			o.cell.Instances[o.at].Name, o.Fault, o.op.Detail)
	}
	return nil
}

// waitUntil polls until done reports true.
func (o *pending) waitUntil(ctx context.Context, done func() (bool, error)) error {
	return o.waitAtMost(ctx, barrierTimeout, done)
}

// pollGap is the time between the first polls of a wait, and maxPollGap bounds it. Each poll may cost the instance a
// request, so a wait that takes long polls less often, and notices its end later by a tenth of what it took.
const (
	pollGap    = 2 * time.Millisecond
	maxPollGap = 20 * time.Millisecond
)

// waitAtMost is waitUntil with a bound of its own, to which a slow machine adds.
func (o *pending) waitAtMost(ctx context.Context, bound time.Duration, done func() (bool, error)) error {
	for begun := time.Now(); ; {
		yes, err := done()
		if yes || err != nil {
			return err
		}
		if bound := bound + 2*o.slack(); time.Since(begun) > bound {
			return fmt.Errorf("order %s (%s): the fault did not come to pass within %s", o.ID, o.Fault,
				bound.Round(time.Millisecond))
		}
		if !sleep(ctx, min(max(pollGap, time.Since(begun)/10), maxPollGap)) {
			return context.Cause(ctx)
		}
	}
}

func (o *pending) url() string { return o.cell.Instances[o.at].URL }

// recordFault records what was done to the order from since until now.
func (o *pending) recordFault(since time.Time, format string, args ...any) {
	o.cell.Faults = append(o.cell.Faults, history.Fault{
		Order: o.ID, Instance: o.cell.Instances[o.at].Name, Text: fmt.Sprintf(format, args...),
		At: history.At(o.cell.Start, since), End: history.At(o.cell.Start, time.Now()),
	})
}

// recordStop is recordFault for an order whose process was stopped.
func (o *pending) recordStop(since time.Time, format string, args ...any) {
	o.recordFault(since, format, args...)
	o.cell.Faults[len(o.cell.Faults)-1].Stopped = true
}

// recordFaultOn records a fault on the network or on servers that affected the order, between two moments.
func (o *pending) recordFaultOn(on string, begun, ended time.Time, format string, args ...any) {
	o.cell.Faults = append(o.cell.Faults, history.Fault{
		Order: o.ID, Instance: o.cell.Instances[o.at].Name, On: on, Text: fmt.Sprintf(format, args...),
		At: history.At(o.cell.Start, begun), End: history.At(o.cell.Start, ended),
	})
}

// seconds renders a duration as stories do.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
