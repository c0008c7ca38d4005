package replay

import "time"

// times holds the durations of a replay. They are those of the explorer, in real time.
type times struct {
	lease  time.Duration
	wait   time.Duration // the longest that an order waits for the lock, on rungs that wait
	retry  time.Duration // the longest between two polls
	lost   time.Duration // from a lost request or reply to the end of its connection
	margin time.Duration // a fresh request is sent a lease and this after the last step
	within time.Duration // a fresh request gets through within this
	idle   time.Duration // the longest wait for an event
}

// Wait is the longest that an order waits for the lock, on rungs that wait, and Stock the number of units at the start.
const (
	Wait  = 3 * time.Second
	Stock = 1
)

// usual are the times of the explorer; a test compares them.
var usual = times{lease: 2 * time.Second, wait: Wait, retry: time.Second, lost: 500 * time.Millisecond,
	margin: 2 * time.Second, within: time.Second, idle: 10 * time.Second}

// longer returns the times multiplied by a factor.
func (t times) longer(by float64) times {
	if by <= 1 {
		return t
	}
	for _, d := range []*time.Duration{&t.lease, &t.wait, &t.retry, &t.lost, &t.margin, &t.within, &t.idle} {
		*d = time.Duration(by * float64(*d))
	}
	return t
}

const (
	// held is an instance's timeout for a server. It is longer than a command can wait at a wire.
	held = 2 * time.Minute
	// afterExpiry is added when time passes until a key expires: Redis counts in milliseconds.
	afterExpiry = 2 * time.Millisecond
)

const product = "10000"
