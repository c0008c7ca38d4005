package attack

import (
	"runtime"
	"sync"
	"time"
)

// tick is how often a heart beats.
const tick = 5 * time.Millisecond

// kept is how many of its last beats a heart remembers: some two seconds.
const kept = 400

// Heart is due every few milliseconds and does nothing but look how late it is. When it is late, this process did not get
// the processor, or none that was free for it, and nothing else in it was in time either.
type Heart struct {
	mu      sync.Mutex
	due     time.Time
	last    [kept]time.Duration // how late it was, as a ring
	beats   int
	watches map[*Watch]bool

	stop chan struct{}
	done chan struct{}
}

// Watch looks at a heart for a while.
type Watch struct {
	heart         *Heart
	began         time.Time
	away, longest time.Duration
}

// NewHeart starts a heart, which Close stops.
func NewHeart() *Heart {
	h := &Heart{watches: map[*Watch]bool{}, due: time.Now().Add(tick), stop: make(chan struct{}), done: make(chan struct{})}
	go h.run()
	return h
}

// Close stops the heart.
func (h *Heart) Close() {
	close(h.stop)
	<-h.done
}

func (h *Heart) run() {
	defer close(h.done)
	runtime.LockOSThread() // no other goroutine of ours is in its way on the thread
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(h.beat(time.Now()))
		case <-h.stop:
			return
		}
	}
}

// beat notes how late it is, and returns when the next beat is due.
func (h *Heart) beat(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[h.beats%kept] = max(0, now.Sub(h.due))
	h.beats++
	for w := range h.watches {
		w.note(h.due, now)
	}
	h.due = now.Add(tick)
	return tick
}

// note counts what of the time between a beat's due and now is the watch's. A beat that comes within a tick is in time:
// timers are no better.
func (w *Watch) note(due, now time.Time) {
	if due.Before(w.began) {
		due = w.began
	}
	late := now.Sub(due)
	if late < tick {
		return
	}
	w.away += late
	w.longest = max(w.longest, late)
}

// Watch begins to look.
func (h *Heart) Watch() *Watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Watch{heart: h, began: time.Now()}
	h.watches[w] = true
	return w
}

// So returns how long the process did not get the processor so far, in all and at once.
func (w *Watch) So() (away, longest time.Duration) {
	w.heart.mu.Lock()
	defer w.heart.mu.Unlock()
	so := *w
	so.note(w.heart.due, time.Now()) // a beat may be due just now
	return so.away, so.longest
}

// Stop ends the watch and returns what it has seen.
func (w *Watch) Stop() (away, longest time.Duration) {
	away, longest = w.So()
	w.heart.mu.Lock()
	defer w.heart.mu.Unlock()
	delete(w.heart.watches, w)
	return away, longest
}

// Lately returns the longest time that the process did not get the processor in the last two seconds or so.
func (h *Heart) Lately() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	longest := max(0, time.Since(h.due))
	for _, late := range h.last {
		longest = max(longest, late)
	}
	return longest
}
