package history

import "time"

// LastUnit ends the name of a cell whose orders want the last unit.
const LastUnit = " of the last unit"

// A Search is how far a trial has played every order of the commands of two orders.
type Search struct {
	Levels      []Level       `json:"levels"`
	Unmeasured  int           `json:"unmeasured"`    // schedules that did not count, however often they were played
	Why         string        `json:"why,omitempty"` // one of them did not
	Unconfirmed int           `json:"unconfirmed"`   // schedules that broke what broke in no replay
	GaveWay     int           `json:"gave_way"`      // schedules: an order that repeats a command had no further turn
	States      int           `json:"states"`        // distinct ones that were seen
	Took        time.Duration `json:"took_ns"`
	Starts      int           `json:"starts"`      // of two instances each
	Starting    time.Duration `json:"starting_ns"` // how long all of these took
	Within      time.Duration `json:"within_ns"`   // the time that it had
}

// A Level is the progress of a search among the schedules with one stock and one number of faults.
type Level struct {
	Units    int64 `json:"units"`
	Faults   int   `json:"faults"`
	Whole    int   `json:"whole"`              // the most changes of turn up to which all schedules were played; -1: none
	Within   int   `json:"within"`             // schedules with at most that many changes
	Played   int   `json:"played"`             // schedules with any number of changes
	Left     int   `json:"left"`               // a lower bound of the schedules that were not played
	Diverged int   `json:"diverged"`           // schedules that went another way than before
	Oversold bool  `json:"oversold,omitempty"` // one of them sold a unit twice
}

// LeastChanges is how many changes of turn a search without a fault must at least have covered.
const LeastChanges = 2

// IsEnough reports whether a search has covered enough to conclude something from what it did not find.
func (s *Search) IsEnough() bool {
	for _, l := range s.Levels {
		if l.Faults == 0 && l.Whole < LeastChanges || s.GoesAnotherWay() {
			return false
		}
	}
	return true
}

// GoesAnotherWay reports whether more than a twentieth of the schedules went another way than before.
func (s *Search) GoesAnotherWay() bool {
	diverged := 0
	for _, l := range s.Levels {
		diverged += l.Diverged
	}
	return diverged*20 > s.All()+diverged
}

// All returns how many schedules were played.
func (s *Search) All() (n int) {
	for _, l := range s.Levels {
		n += l.Played
	}
	return n
}
