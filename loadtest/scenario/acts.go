package scenario

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/shop"
)

// The instances of a fault scenario: the fault comes to the first, and the others come in by the second.
const a, b = 0, 1

// secondWait is how long the second buyer waits for the lock: past the end of the first one's lease, and not so long
// that v5.5's renewals come to their end, or a write that the first has begun to its.
func (p *play) secondWait() time.Duration { return p.Load.TTL * 7 / 4 }

// slowly is work that takes longer than a lease, and than v5.5 renews one.
func (p *play) slowly() time.Duration { return p.Load.TTL * 5 / 2 }

// endlessly is work that is not over when the last fresh request has been refused.
func (p *play) endlessly() time.Duration { return p.cell.Limit + 1200*time.Millisecond }

// playCrash kills a while it is inside.
func playCrash(ctx context.Context, p *play) error {
	point := cmp.Or(p.rung.Gap, "before:"+p.rung.Write)
	if err := p.opening(ctx); err != nil {
		return err
	}
	gone, begun := p.World.Processes[a].Doom(), time.Now()
	first := p.order(ctx, a, "1", shop.Order{Fault: "crash@" + point})
	if err := first.died(ctx, gone); err != nil {
		return err
	}
	first.suffered(begun, "killed %s", strings.Replace(point, ":", " ", 1))
	p.probes = []int{b}
	return nil
}

// playSlowWork lets a work for longer than its lease lasts, alive and well; b tries to sell meanwhile.
func playSlowWork(ctx context.Context, p *play) error {
	return p.slowWork(ctx, nil, func(first *pending, begun time.Time) {
		first.suffered(begun, "working %s under a lease of %s", span(p.slowly()), span(p.Load.TTL))
	})
}

// slowWork harms a, unless harm is nil, when it begins to work for longer than its lease lasts. Meanwhile b tries. What
// has happened is noted when a has ended.
func (p *play) slowWork(ctx context.Context, harm func() error, note func(first *pending, begun time.Time)) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	first := p.order(ctx, a, "1", shop.Order{Fault: "hold@" + p.rung.AfterRead(), Work: p.slowly(), Wait: 4 * p.Load.TTL})
	if err := first.held(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if harm != nil {
		if err := harm(); err != nil {
			return err
		}
	}
	if err := first.letGo(ctx); err != nil {
		return err
	}
	second := p.order(ctx, b, "2", shop.Order{Wait: 4 * p.Load.TTL})
	if err := first.answered(ctx); err != nil {
		return err
	}
	note(first, begun)
	return second.answered(ctx)
}

// playLateRelease holds a at work past its lease, until b is inside; then a ends, and a third comes while b is inside.
func playLateRelease(ctx context.Context, p *play) error {
	first, second, err := p.overtaken(ctx, "hold@"+p.rung.AfterRead(), "at work")
	if err != nil {
		return err
	}
	if err := first.letGo(ctx); err != nil {
		return err
	}
	if err := first.answered(ctx); err != nil {
		return err
	}
	if err := p.order(ctx, a, "3", shop.Order{}).answered(ctx); err != nil {
		return err
	}
	return second.goesOn(ctx)
}

// playCheckDeleteGap holds a between its sale and its release, past its lease, until b is inside; then a releases.
func playCheckDeleteGap(ctx context.Context, p *play) error {
	first, second, err := p.overtaken(ctx, beforeRelease, "before its release")
	if err != nil {
		return err
	}
	if err := first.letGo(ctx); err != nil {
		return err
	}
	if err := first.answered(ctx); err != nil {
		return err
	}
	return second.goesOn(ctx)
}

// beforeRelease holds an order before every command that gives back the lock of any rung. A rung whose script has
// become a GET and a DEL must not slip by.
var beforeRelease = "hold@before:" + strings.Join(catalog.Releases(), ",hold@before:")

// overtaken holds the first order, on a, until the second is inside on b, or has given up waiting for the lock.
func (p *play) overtaken(ctx context.Context, fault, where string) (first, second *pending, err error) {
	if err := p.opening(ctx); err != nil {
		return nil, nil, err
	}
	first = p.order(ctx, a, "1", shop.Order{Fault: fault})
	if err := first.held(ctx); err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	second = p.order(ctx, b, "2", shop.Order{Fault: "hold@before:" + p.rung.Write, Wait: p.secondWait()})
	if _, err := second.heldOrAnswered(ctx); err != nil {
		return nil, nil, err
	}
	first.suffered(begun, "held for %s %s under a lease of %s", span(time.Since(begun)), where, span(p.Load.TTL))
	return first, second, nil
}

// goesOn lets an order go on if it is held, and waits for its end.
func (o *pending) goesOn(ctx context.Context) error {
	if o.over() {
		return nil
	}
	if err := o.letGo(ctx); err != nil {
		return err
	}
	return o.answered(ctx)
}

// playPause stops a at the last instant before its write; b sells; a goes on.
func playPause(ctx context.Context, p *play) error {
	return p.paused(ctx, "", func(second *pending) error { return second.answered(ctx) }, nil)
}

// playPauseAtWork stops a in the middle of its work; b sells; a goes on when its work is due to end, so that its last
// look at the lease comes at the same moment as everything that was to tell it of the loss.
func playPauseAtWork(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	work := p.Load.TTL
	first := p.order(ctx, a, "1", shop.Order{Fault: "hold@" + p.rung.AfterRead(), Work: work, Wait: 4 * p.Load.TTL})
	if err := first.held(ctx); err != nil {
		return err
	}
	if err := first.letGo(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := first.stop(ctx); err != nil {
		return err
	}
	if err := p.order(ctx, b, "2", shop.Order{Wait: p.secondWait()}).answered(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(time.Until(begun.Add(work))):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := first.resume(); err != nil {
		return err
	}
	first.stoodStill(begun, "stopped for %s at work under a lease of %s", span(time.Since(begun)), span(p.Load.TTL))
	return first.answered(ctx)
}

// playWriteOnlyFence stops a between its read and its write, until b has read too; then a writes, and then b.
func playWriteOnlyFence(ctx context.Context, p *play) error {
	return p.paused(ctx, "hold@before:"+p.rung.Write,
		func(second *pending) error { return second.held(ctx) },
		func(second *pending) error { return second.goesOn(ctx) })
}

// paused stops a before its write, sends a second order to b, waits until that has come as far as it is to, lets a go
// on, and after a has ended does what is left to do.
func (p *play) paused(ctx context.Context, fault string, far, after func(second *pending) error) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	first := p.order(ctx, a, "1", shop.Order{Fault: "stop@before:" + p.rung.Write, Wait: p.secondWait()})
	if err := first.stopped(ctx); err != nil {
		return err
	}
	begun := time.Now()
	second := p.order(ctx, b, "2", shop.Order{Fault: fault, Wait: p.secondWait()})
	if err := far(second); err != nil {
		return err
	}
	if err := first.resume(); err != nil {
		return err
	}
	first.stoodStill(begun, "stopped for %s before %s under a lease of %s", span(time.Since(begun)), p.rung.Write, span(p.Load.TTL))
	if err := first.answered(ctx); err != nil || after == nil {
		return err
	}
	return after(second)
}

// playHungHolder lets a work for longer than anybody waits. The fresh requests come while it does.
func playHungHolder(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	first := p.order(ctx, a, "1", shop.Order{Fault: "hold@" + p.rung.AfterRead(), Work: p.endlessly()})
	if err := first.held(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if err := first.letGo(ctx); err != nil {
		return err
	}
	first.suffered(begun, "working on and on under a lease of %s", span(p.Load.TTL))
	p.probes = []int{b}
	return nil
}

// playQueueOrder lets fifty come one after the other, to b and a in turn, while somebody holds the lock on a. When that
// is released, the first in line cannot come at once, as its process stands still; and just then one more comes, to a.
func playQueueOrder(ctx context.Context, p *play) error {
	const waiters = 50
	first, err := p.holder(ctx)
	if err != nil {
		return err
	}
	var next *pending
	for n := range waiters {
		o, err := p.joins(ctx, (n+1)%2, n+1)
		if err != nil {
			return err
		}
		if n == 0 {
			next = o
		}
	}
	p.cell.InLine = true
	begun := time.Now()
	if err := next.stop(ctx); err != nil {
		return err
	}
	if err := first.goesOn(ctx); err != nil {
		return err
	}
	if _, err := p.joins(ctx, a, waiters+1); err != nil {
		return err
	}
	if err := next.resume(); err != nil {
		return err
	}
	next.stoodStill(begun, "stopped for %s while the lock became free", span(time.Since(begun)))
	return nil
}

// holder sends the first order after the opening, to a, and waits until it is inside.
func (p *play) holder(ctx context.Context) (*pending, error) {
	if err := p.opening(ctx); err != nil {
		return nil, err
	}
	first := p.order(ctx, a, "first", shop.Order{Fault: "hold@before:" + p.rung.Write})
	return first, first.held(ctx)
}

// joins sends the next order, and waits until it is known to have come before any that is sent after it. Where there is
// a queue, that can be seen, unless it has the lock at once. Where there is none, the order is known to be about to ask
// for the lock.
func (p *play) joins(ctx context.Context, at, n int) (*pending, error) {
	locks := p.World.Servers[lockServer]
	before, err := locks.Queued(ctx)
	if err != nil {
		return nil, err
	}
	order := shop.Order{Wait: 20 * time.Second}
	if !p.rung.Queue {
		order.Fault = "hold@before:" + p.rung.Acquire
	}
	o := p.order(ctx, at, strconv.Itoa(n), order)
	if p.rung.Queue {
		return o, o.until(ctx, func() (bool, error) {
			queued, err := locks.Queued(ctx)
			return queued > before || o.over(), err
		})
	}
	if err := o.held(ctx); err != nil {
		return nil, err
	}
	return o, o.letGo(ctx)
}

// playNested lets a caller take its own lock again while it holds it. Then b holds the lock, and the same caller comes
// again: it is not to believe that it holds it still.
func playNested(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	begun := time.Now()
	first := p.order(ctx, a, "1", shop.Order{Caller: 1, Nested: true})
	if err := first.answered(ctx); err != nil {
		return err
	}
	first.suffered(begun, "asking again for the lock that it holds")
	second := p.order(ctx, b, "2", shop.Order{Fault: "hold@before:" + p.rung.Write})
	if err := second.held(ctx); err != nil {
		return err
	}
	begun = time.Now()
	third := p.order(ctx, a, "3", shop.Order{Caller: 1})
	if err := third.answered(ctx); err != nil {
		return err
	}
	if third.op.Outcome == history.Sold {
		third.suffered(begun, "by a caller that had held the lock before")
	}
	p.nested = true
	return second.goesOn(ctx)
}

// playSoldOutRestock finds the shelf empty, fills it, and buys again.
func playSoldOutRestock(ctx context.Context, p *play) error {
	url := p.cell.Instances[a].URL
	if err := p.Client.SetStock(ctx, url, p.cell.Product, 0); err != nil {
		return err
	}
	begun := time.Now()
	first := p.order(ctx, a, "1", shop.Order{})
	if err := first.answered(ctx); err != nil {
		return err
	}
	if err := p.Client.SetStock(ctx, url, p.cell.Product, p.cell.Initial); err != nil {
		return err
	}
	first.suffered(begun, "told that all is sold")
	// What a timer left running does, it does at half a lease, and nobody outside can see it: give it a whole one.
	select {
	case <-time.After(p.Load.TTL):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return p.order(ctx, b, "2", shop.Order{}).answered(ctx)
}
