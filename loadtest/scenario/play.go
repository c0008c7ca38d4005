package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
	"stockapi/loadtest/rig"
)

// barrierTimeout bounds every wait of a step. A fault that did not happen by then will not happen, and the cell cannot
// be completed.
const barrierTimeout = 5 * time.Second

// A play is one cell of a fault scenario while it runs; a scenario is a function that calls its steps. Each step waits
// until its effect is known: an order is held at its point, a process is stopped or has exited. No step relies on a
// sleep. A step that fails ends the play, as FailNow ends a test.
type play struct {
	*Runner
	ctx  context.Context
	cell *history.Cell
	rung catalog.Rung
	// session is how long a ZooKeeper session outlives its process.
	session time.Duration
	// orders are all orders that were sent.
	orders []*inFlight
	// probes are the numbers of the instances that get fresh requests at the end. With nested these acquire the lock
	// once more.
	probes []int
	nested bool
	// second is the name of a second product, if there is one.
	second string
	// mayRefuse reports whether the first order may be refused its lock, since its servers are partitioned.
	mayRefuse bool
}

// A failure is the value with which must panics; carryOut returns its error.
type failure struct{ error }

// must ends the play if err is not nil.
func (f *play) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// fail ends the play.
func (f *play) fail(format string, args ...any) { f.must(fmt.Errorf(format, args...)) }

// carryOut runs the steps and returns the error of the one that failed.
func (f *play) carryOut(steps func(*play)) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	steps(f)
	return nil
}

// runFault injects the scenario's faults, sends the probes, and waits for all orders in flight.
func (r *Runner) runFault(ctx context.Context, c *history.Cell, spec catalog.Spec) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &play{
		Runner: r, ctx: inner, cell: c, rung: spec.Rung, session: spec.Scenario.SessionTimeout(), probes: everywhere(c),
	}
	defer f.measure(time.Now())
	err := f.carryOut(func(f *play) {
		injectionOf(spec.Scenario.Name)(f)
		f.must(r.Probe(inner, c, f.probes, f.nested))
		for _, o := range f.orders {
			o.waitAnswered()
		}
	})
	if err != nil {
		cancel()
	}
	for _, o := range f.orders {
		<-o.Done()
		c.Ops = append(c.Ops, o.Op)
	}
	f.clear(ctx)
	c.Elapsed = time.Since(c.Start)
	return err
}

// measure stores the client's figures of a play that began at this time.
func (f *play) measure(begun time.Time) {
	f.cell.Client = load.ClientOf(f.cell.Ops)
	f.cell.Client.Loop = "closed" // each step waits for the one before it
	f.cell.Client.Away, f.cell.Client.Longest = f.Stalls.Since(begun)
}

// warmUp sells one unit on each instance, to show that the rung works without a fault. It also opens the connections
// and loads the scripts, so that the fault does not wait for them.
func (f *play) warmUp() {
	for i, in := range f.cell.Instances {
		f.order(i, "opening-"+in.Name, client.Order{}).waitAnswered()
	}
}

// order sends an order for one unit to an instance and returns at once. Fields set in with override those shared by all
// orders of the cell.
func (f *play) order(at int, id string, with client.Order) *inFlight {
	return f.send(at, id, history.Buy, with)
}

// send sends an order of this phase.
func (f *play) send(at int, id string, phase history.Phase, with client.Order) *inFlight {
	o := &inFlight{play: f, Order: f.Runner.order(f.cell, id, 1)}
	o.InFlight = rig.NewInFlight(o.ID, at)
	o.Fault, o.Work, o.Wait = with.Fault, with.Work, cmp.Or(with.Wait, o.Wait)
	o.Caller, o.Nested, o.Items, o.NoRenew = with.Caller, with.Nested, with.Items, with.NoRenew
	if phase == history.Reading {
		o.Reads, o.Quantity = true, 0
	}
	o.Timeout = o.Wait + o.Work + AnswerMargin
	f.orders = append(f.orders, o)
	o.Send(f.ctx, func(ctx context.Context) history.Op {
		return f.buy(ctx, f.cell, f.cell.Start, time.Now(), at, phase, o.Order)
	})
	return o
}

// pollGap is the time between the first polls of a wait, and maxPollGap bounds it. Each poll may cost the instance a
// request, so a long wait polls less often, and notices its end later by a tenth of its length.
const (
	pollGap    = 2 * time.Millisecond
	maxPollGap = 20 * time.Millisecond
)

// poll polls until done reports true. It returns false if it does not within the bound, which may grow meanwhile.
func (f *play) poll(bound func() time.Duration, done func() bool) bool {
	for begun := time.Now(); !done(); {
		if time.Since(begun) > bound() {
			return false
		}
		f.sleepUntil(time.Now().Add(min(max(pollGap, time.Since(begun)/10), maxPollGap)))
	}
	return true
}

// sleepUntil waits until a time.
func (f *play) sleepUntil(t time.Time) {
	if !sleep(f.ctx, time.Until(t)) {
		f.must(context.Cause(f.ctx))
	}
}

// An inFlight is an order in flight.
type inFlight struct {
	*play
	client.Order
	*rig.InFlight
}

// waitAnswered waits until the order has ended, with an answer or without.
func (o *inFlight) waitAnswered() {
	select {
	case <-o.Done():
	case <-o.ctx.Done():
		o.must(context.Cause(o.ctx))
	}
}

// held reports whether the order is held at the point of its fault.
func (o *inFlight) held() bool {
	orders, err := o.Client.HeldOrders(o.ctx, o.url())
	o.must(err)
	return slices.Contains(orders, o.ID)
}

// waitHeld waits until the order is held, and fails if the order ends first.
func (o *inFlight) waitHeld() {
	if !o.waitHeldOrAnswered() {
		o.fail("order %s was to be held (%s), but was answered: %s %s", o.ID, o.Fault, o.Op.Outcome, o.Op.Detail)
	}
}

// waitHeldOrAnswered waits until the order is held or has ended, and returns whether it is held.
func (o *inFlight) waitHeldOrAnswered() (held bool) {
	o.waitUntil(func() bool {
		if o.HasEnded() {
			return true
		}
		held = o.held()
		return held
	})
	return held
}

// endHold lets the held order go on.
func (o *inFlight) endHold() { o.endHoldAfter(0) }

func (o *inFlight) endHoldAfter(d time.Duration) { o.must(o.Client.EndHold(o.ctx, o.url(), o.ID, d)) }

// finish lets the order go on, if it is held, and waits until it has ended.
func (o *inFlight) finish() {
	if !o.HasEnded() {
		o.endHold()
		o.waitAnswered()
	}
}

// stop stops the order's process.
func (o *inFlight) stop() { o.must(o.Targets.Processes[o.At].Stop()) }

// stopHeld stops the process of an order that is held at its point, and returns when. The hold ends during the stop: a
// resumed process first goes on with the order, before it notices that the lease has expired.
func (o *inFlight) stopHeld() (begun time.Time) {
	o.waitHeld()
	begun = time.Now()
	o.endHoldAfter(o.Load.TTL / 2)
	if o.stop(); time.Since(begun) > o.Load.TTL/2 {
		o.fail("order %s: its process was stopped only after the hold", o.ID)
	}
	return begun
}

// kill kills the order's process, and waits until it and the order have ended. An order whose process died before it
// sent the write of the stock is not of unknown outcome: it did not sell.
func (o *inFlight) kill() {
	o.Targets.Processes[o.At].Kill()
	o.waitAnswered()
	o.Op.KilledBeforeWrite(o.cell.Instances[o.At].Name)
}

// resume resumes the order's process.
func (o *inFlight) resume() { o.must(o.Targets.Processes[o.At].Continue()) }

// waitUntil polls until done reports true.
func (o *inFlight) waitUntil(done func() bool) { o.waitAtMost(barrierTimeout, done) }

// waitAtMost is waitUntil with a bound of its own, to which a slow machine adds.
func (o *inFlight) waitAtMost(bound time.Duration, done func() bool) {
	slack := func() time.Duration { return bound + 2*o.slack() }
	if !o.poll(slack, done) {
		o.fail("order %s (%s): the fault did not happen within %s", o.ID, o.Fault, slack().Round(time.Millisecond))
	}
}

func (o *inFlight) url() string { return o.cell.Instances[o.At].URL }

// recordFault records a fault of the order from since until now.
func (o *inFlight) recordFault(since time.Time, format string, args ...any) {
	o.recordFaultOn("", since, time.Now(), format, args...)
}

// note records a fault that has affected the order since then.
func (o *inFlight) note(since time.Time, f history.Fault) { o.Note(o.cell, f, since, time.Now()) }

// recordFaultOn records a fault on the network or on servers that affected the order, between two times.
func (o *inFlight) recordFaultOn(on string, begun, ended time.Time, format string, args ...any) {
	o.Note(o.cell, history.Fault{On: on, Text: fmt.Sprintf(format, args...)}, begun, ended)
}

// seconds renders a duration as stories do.
var seconds = rig.Seconds
