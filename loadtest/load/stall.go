package load

import (
	"runtime"
	"sync"
	"time"
)

// tick is the time between two samples.
const tick = 5 * time.Millisecond

// sampleCount is the number of samples that a meter keeps: those of some two seconds.
const sampleCount = 400

// A StallMeter measures scheduling delays. Every few milliseconds it wakes up and measures how late it is. When it is
// late, this process did not get a processor, and the rest of the process was late too.
type StallMeter struct {
	mu      sync.Mutex
	due     time.Time
	last    [sampleCount]time.Duration // the delays, as a ring
	samples int
	watches map[*StallWatch]bool

	stop chan struct{}
	done chan struct{}
}

// A StallWatch sums up the delays of a meter over some time.
type StallWatch struct {
	meter         *StallMeter
	began         time.Time
	away, longest time.Duration
}

// NewStallMeter starts a meter. Close stops it.
func NewStallMeter() *StallMeter {
	m := &StallMeter{
		watches: map[*StallWatch]bool{}, due: time.Now().Add(tick),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go m.run()
	return m
}

// Close stops the meter.
func (m *StallMeter) Close() {
	close(m.stop)
	<-m.done
}

func (m *StallMeter) run() {
	defer close(m.done)
	runtime.LockOSThread() // no other goroutine of this process delays it on this thread
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(m.sample(time.Now()))
		case <-m.stop:
			return
		}
	}
}

// sample stores the delay, and returns the time until the next sample is due.
func (m *StallMeter) sample(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[m.samples%sampleCount] = max(0, now.Sub(m.due))
	m.samples++
	for w := range m.watches {
		w.add(m.due, now)
	}
	m.due = now.Add(tick)
	return tick
}

// add counts the part of a delay, from due until now, that lies within the watch. A sample within a tick is in time:
// timers are no more precise.
func (w *StallWatch) add(due, now time.Time) {
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

// Watch starts a watch.
func (m *StallMeter) Watch() *StallWatch {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &StallWatch{meter: m, began: time.Now()}
	m.watches[w] = true
	return w
}

// SoFar returns how long the process did not get a processor so far, in total and at a stretch.
func (w *StallWatch) SoFar() (away, longest time.Duration) {
	w.meter.mu.Lock()
	defer w.meter.mu.Unlock()
	soFar := *w
	soFar.add(w.meter.due, time.Now()) // a sample may be overdue
	return soFar.away, soFar.longest
}

// Stop ends the watch and returns its result.
func (w *StallWatch) Stop() (away, longest time.Duration) {
	away, longest = w.SoFar()
	w.meter.mu.Lock()
	defer w.meter.mu.Unlock()
	delete(w.meter.watches, w)
	return away, longest
}

// Recent returns the longest scheduling delay of the last two seconds or so.
func (m *StallMeter) Recent() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	longest := max(0, time.Since(m.due))
	for _, late := range m.last {
		longest = max(longest, late)
	}
	return longest
}
