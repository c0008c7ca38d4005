package audit

import (
	"cmp"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// A span is the certain part of a lease, on one timeline for all that are compared: its holder had the lock at begin at
// the latest, and still at end. If little is certain, end is before begin.
type span struct {
	begin, end history.Instant
	lease      int32
	clock      int32
	reading    bool
}

// overlaps calls yield for each span that surely overlaps one before it, with the one of those that ends last. Two
// spans surely overlap if each began before the other ended. Readers share the lock with each other. With across, only
// spans of different clocks are compared. It sorts the spans, and takes n log n time.
func overlaps(spans []span, across bool, yield func(before, after *span)) {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.lease, b.lease))
	})
	all := make([]last, len(spans))
	writers := all
	if slices.ContainsFunc(spans, func(s span) bool { return s.reading }) {
		writers = make([]last, len(spans))
	}
	reaches := func(a, b int32) bool { return spans[a].end > spans[b].end }
	same := func(a, b int32) bool { return across && spans[a].clock == spans[b].clock }
	for i := range spans {
		s := &spans[i]
		n := i // how many began before s ended
		if s.end <= s.begin {
			n = sort.Search(i, func(j int) bool { return spans[j].begin >= s.end })
		}
		if n > 0 {
			from := all
			if s.reading {
				from = writers
			}
			if before := from[n-1].against(func(j int32) bool { return across && spans[j].clock == s.clock }); before >= 0 &&
				spans[before].end > s.begin {
				yield(&spans[before], s)
			}
		}
		all[i] = previous(all, i).with(int32(i), reaches, same)
		if &writers[0] != &all[0] {
			writers[i] = previous(writers, i)
			if !s.reading {
				writers[i] = writers[i].with(int32(i), reaches, same)
			}
		}
	}
}

// last holds the first two elements by some order that are of different kinds; -1 for none. It answers "which is the
// first that is not of my kind?" at once.
type last struct{ first, second int32 }

func previous(ls []last, i int) last {
	if i == 0 {
		return last{-1, -1}
	}
	return ls[i-1]
}

// with adds one element to l: before orders the elements, and same tells whether two are of one kind.
func (l last) with(i int32, before, same func(a, b int32) bool) last {
	switch {
	case l.first < 0:
		return last{i, -1}
	case before(i, l.first):
		if same(i, l.first) {
			return last{i, l.second}
		}
		return last{i, l.first}
	case !same(i, l.first) && (l.second < 0 || before(i, l.second)):
		return last{l.first, i}
	}
	return l
}

// against returns the first element that is not excluded, or -1.
func (l last) against(excluded func(int32) bool) int32 {
	if l.first >= 0 && excluded(l.first) {
		return l.second
	}
	return l.first
}
