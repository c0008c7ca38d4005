package search

import (
	"cmp"
	"slices"
	"strings"

	"stockapi/loadtest/schedule"
)

// An Option is a step that may come next.
type Option struct {
	schedule.Step
	// ID is the same for the same step in every state. The step itself names a command by its place among those that
	// wait, which changes.
	ID string
}

// A Level is a measure of how far a schedule is from one order after the other.
type Level struct {
	Faults  int `json:"faults"`
	Changes int `json:"changes"` // of turn: steps by another client than the step by a client before it
}

// Less reports whether a level has fewer faults than another one, or else fewer changes.
func (l Level) Less(other Level) bool {
	return l.Faults < other.Faults || l.Faults == other.Faults && l.Changes < other.Changes
}

// within reports whether a level has at most as many faults, and as many changes, as another.
func (l Level) within(most Level) bool { return l.Faults <= most.Faults && l.Changes <= most.Changes }

// A Prefix is the beginning of a schedule.
type Prefix struct {
	Level
	Steps []Option
}

// compare orders prefixes: fewer changes first, then fewer steps, and then a's steps before b's.
func (p Prefix) compare(other Prefix) int {
	return cmp.Or(p.Changes-other.Changes, len(p.Steps)-len(other.Steps), slices.CompareFunc(p.Steps, other.Steps,
		func(a, b Option) int { return cmp.Or(a.Compare(b.Step), strings.Compare(a.ID, b.ID)) }))
}

// IsShorter reports whether a prefix has fewer faults than another, or as many and fewer changes, or fewer steps. Of
// two equally long ones, that with a's steps earlier and its fault later is the shorter.
func (p Prefix) IsShorter(than Prefix) bool { return cmp.Or(p.Faults-than.Faults, p.compare(than)) < 0 }
