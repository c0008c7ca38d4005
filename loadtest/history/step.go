package history

import "time"

// A Step is one step of a cell whose order of events counts, and not their times: much of it happens at one moment.
type Step struct {
	Passed time.Duration // on the clock, since the beginning
	Label  string        // on the axis; empty: its number, from 1
}

// StepApart is the time between two steps of one moment.
const StepApart = Instant(time.Microsecond)

// StepAt returns the instant at which a cell has step i, from 0, if its order counts.
func StepAt(i int, passed time.Duration) Instant {
	return Instant(passed) + Instant(i+1)*StepApart
}
