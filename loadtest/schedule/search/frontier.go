package search

import "container/heap"

// A path is a prefix that is yet to be played.
type path struct {
	Prefix
	asleep []string // IDs of options that need not be taken after the last step: they were tried before
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
	return a.compare(b.Prefix) < 0
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
