package search

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// A Level is a measure of how far a schedule is from one order after the other.
type Level struct {
	Faults  int `json:"faults"`
	Changes int `json:"changes"` // of turn: steps by another client than the step by a client before it
}

// within reports whether a level has at most as many faults, and as many changes, as another.
func (l Level) within(most Level) bool { return l.Faults <= most.Faults && l.Changes <= most.Changes }

// A path is the beginning of a schedule that is yet to be played.
type path struct {
	Level
	steps  []Option
	asleep []string // IDs of options that need not be taken after the last step: they were tried before
}

// compare orders paths: fewer changes first, then fewer steps, and then a's before b's.
func (p path) compare(other path) int {
	return cmp.Or(p.Changes-other.Changes, len(p.steps)-len(other.steps), slices.CompareFunc(p.steps, other.steps,
		func(a, b Option) int { return cmp.Or(a.Compare(b.Step), strings.Compare(a.ID, b.ID)) }))
}

// A frontier is a heap of paths.
type frontier struct {
	paths       []path
	faultsFirst bool
}

func (f *frontier) add(p path) { heap.Push(f, p) }

func (f *frontier) next() path { return heap.Pop(f).(path) }

// Len is part of heap.Interface.
func (f *frontier) Len() int { return len(f.paths) }

// Less is part of heap.Interface.
func (f *frontier) Less(i, j int) bool {
	a, b := f.paths[i], f.paths[j]
	if f.faultsFirst && a.Faults != b.Faults {
		return a.Faults < b.Faults
	}
	return a.compare(b) < 0
}

// Swap is part of heap.Interface.
func (f *frontier) Swap(i, j int) { f.paths[i], f.paths[j] = f.paths[j], f.paths[i] }

// Push is part of heap.Interface.
func (f *frontier) Push(p any) { f.paths = append(f.paths, p.(path)) }

// Pop is part of heap.Interface.
func (f *frontier) Pop() any {
	last := f.paths[len(f.paths)-1]
	f.paths[len(f.paths)-1] = path{}
	f.paths = f.paths[:len(f.paths)-1]
	return last
}
