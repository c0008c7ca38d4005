package lock

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// A pending is work in the background that begins later: the renewing of a lease. Most leases are released before their
// first renewal is due. So until then there is no goroutine, and no timer of its own. Nil: there is nothing to do.
type pending struct {
	of    *leases
	ctx   context.Context
	begin time.Time
	work  func(ctx context.Context)

	place   int                // among those that wait; -1: it does not wait any more
	cancel  context.CancelFunc // ends the work; nil: it has not begun
	ended   bool
	running sync.WaitGroup
}

// later runs work after the delay, unless it is ended before. The context of the work outlives ctx: a lease is renewed
// until it is released, even if the request has ended. It ends when the work is ended, or the process ends.
func (rt *runtime) later(ctx context.Context, delay time.Duration, work func(ctx context.Context)) *pending {
	p := &pending{of: rt.leases, ctx: ctx, begin: time.Now().Add(delay), work: work}
	rt.leases.add(p)
	return p
}

func (p *pending) run(ctx context.Context) {
	defer p.of.Background.Done()
	defer p.running.Done()
	defer context.AfterFunc(p.of.Life, p.cancel)()
	p.work(ctx)
}

// end ends the work, or keeps it from beginning, and does not wait for it. Calling it again does nothing.
func (p *pending) end() {
	if p != nil {
		p.of.remove(p)
	}
}

// stop is end, and waits until the work has ended.
func (p *pending) stop() {
	if p != nil {
		p.end()
		p.running.Wait()
	}
}

// leases are the leases of a rung that may have to be renewed. They share one timer, which is set for the first of them
// and stays set when that one is released: to set a timer may cost a system call, which wakes the thread that waits for
// the network. When the process has ended, no work begins any more.
type leases struct {
	Process

	mu      sync.Mutex
	waiting byBegin
	timer   *time.Timer
	set     time.Time // when the timer fires; zero: it is not set
}

func (l *leases) add(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	heap.Push(&l.waiting, p)
	l.setTimer()
}

func (l *leases) remove(p *pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case p.ended:
	case p.place >= 0:
		heap.Remove(&l.waiting, p.place)
	default:
		p.cancel()
	}
	p.ended = true
}

// setTimer sets the timer for the first that waits, unless it fires by then. The caller has the mutex.
func (l *leases) setTimer() {
	if len(l.waiting) == 0 {
		return
	}
	first := l.waiting[0].begin
	if !l.set.IsZero() && !first.Before(l.set) {
		return
	}
	l.set = first
	if l.timer == nil {
		l.timer = time.AfterFunc(time.Until(first), l.beginDue)
	} else {
		l.timer.Reset(time.Until(first))
	}
}

// beginDue begins the work that is due.
func (l *leases) beginDue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Life.Err() != nil {
		return
	}
	l.set = time.Time{}
	for len(l.waiting) > 0 && !time.Now().Before(l.waiting[0].begin) {
		p := heap.Pop(&l.waiting).(*pending)
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(context.WithoutCancel(p.ctx))
		p.running.Add(1)
		l.Background.Add(1)
		go p.run(ctx)
	}
	l.setTimer()
}

// byBegin is a [heap.Interface].
type byBegin []*pending

func (w byBegin) Len() int           { return len(w) }
func (w byBegin) Less(i, j int) bool { return w[i].begin.Before(w[j].begin) }

func (w byBegin) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i, j
}

// Push is part of [heap.Interface].
func (w *byBegin) Push(x any) {
	p := x.(*pending)
	p.place = len(*w)
	*w = append(*w, p)
}

// Pop is part of [heap.Interface].
func (w *byBegin) Pop() any {
	last := len(*w) - 1
	p := (*w)[last]
	(*w)[last], *w = nil, (*w)[:last]
	p.place = -1
	return p
}
