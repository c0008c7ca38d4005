package load

import (
	"runtime"
	"sync"
	"time"
)

// tick is the time between two samples.
const tick = 5 * time.Millisecond

// recently is how far back Recent looks.
const recently = 2 * time.Second

// A StallMeter measures scheduling delays. It wakes up every few milliseconds and measures how late. If it is late, the
// process did not get a processor, so everything else in it was late too. A nil meter measures nothing.
type StallMeter struct {
	mu     sync.Mutex
	due    time.Time
	stalls []stall // oldest first; a quiet machine has hardly any

	stop chan struct{}
	done chan struct{}
}

// A stall is a time in which the process did not get a processor: from when a sample was due until it was taken.
type stall struct{ from, until time.Time }

// NewStallMeter starts a meter. Close stops it.
func NewStallMeter() *StallMeter {
	m := &StallMeter{due: time.Now().Add(tick), stop: make(chan struct{}), done: make(chan struct{})}
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
			m.sample(time.Now())
			timer.Reset(tick)
		case <-m.stop:
			return
		}
	}
}

// sample records a delay of more than a tick: timers are no more precise.
func (m *StallMeter) sample(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.due) >= tick {
		m.stalls = append(m.stalls, stall{m.due, now})
	}
	m.due = now.Add(tick)
}

// Since returns the total and the longest time without a processor since begun.
func (m *StallMeter) Since(begun time.Time) (away, longest time.Duration) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	add := func(s stall) {
		if s.from.Before(begun) {
			s.from = begun
		}
		if late := s.until.Sub(s.from); late >= tick {
			away += late
			longest = max(longest, late)
		}
	}
	add(stall{m.due, time.Now()}) // a sample may be overdue
	for i := len(m.stalls) - 1; i >= 0 && m.stalls[i].until.After(begun); i-- {
		add(m.stalls[i])
	}
	return away, longest
}

// Recent returns the longest scheduling delay of the last two seconds.
func (m *StallMeter) Recent() time.Duration {
	_, longest := m.Since(time.Now().Add(-recently))
	return longest
}
