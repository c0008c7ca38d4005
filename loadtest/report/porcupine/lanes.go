package porcupine

import (
	"cmp"
	"slices"
)

// A lane is one row of the picture. Operations on it do not overlap.
type lane struct {
	number int
	// name is the name of the instance whose operations are on it, empty for the shop itself.
	name string
	end  int64
}

// lanes returns the lane of each operation. The shop's come first, then those of each instance, as few as possible.
func (q *question) lanes() []*lane {
	byCall := make([]int, len(q.operations))
	for i := range byCall {
		byCall[i] = i
	}
	slices.SortStableFunc(byCall, func(i, j int) int { return cmp.Compare(q.operations[i].call, q.operations[j].call) })
	var all []*lane
	of := make([]*lane, len(q.operations))
	for _, i := range byCall {
		a := q.operations[i]
		free := slices.IndexFunc(all, func(l *lane) bool { return l.name == a.instance() && l.end < a.call })
		if free < 0 {
			free = len(all)
			all = append(all, &lane{name: a.instance()})
		}
		of[i], all[free].end = all[free], a.ret
	}
	slices.SortStableFunc(all, func(a, b *lane) int { return cmp.Compare(a.name, b.name) })
	for i, l := range all {
		l.number = i
	}
	return of
}

func (a *operation) instance() string {
	if a.op == nil {
		return ""
	}
	return a.op.Instance
}
