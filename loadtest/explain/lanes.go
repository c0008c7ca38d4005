package explain

import (
	"cmp"
	"slices"
)

// lane is one row of the picture. Acts on it do not overlap.
type lane struct {
	number int
	// name is that of the instance whose acts are on it, empty for the shop itself.
	name string
	end  int64
}

// lanes gives each act a lane: the shop's come first, then those of each instance, as few as will do.
func (q *question) lanes() []*lane {
	byCall := make([]int, len(q.acts))
	for i := range byCall {
		byCall[i] = i
	}
	slices.SortStableFunc(byCall, func(i, j int) int { return cmp.Compare(q.acts[i].call, q.acts[j].call) })
	var all []*lane
	of := make([]*lane, len(q.acts))
	for _, i := range byCall {
		a := q.acts[i]
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

func (a *act) instance() string {
	if a.op == nil {
		return ""
	}
	return a.op.Instance
}
