package audit

import (
	"cmp"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// span is a lease as far as it is certain, on one timeline for all that are compared: its holder had the lock at begin
// at the latest, and still at end. Where little is certain, end lies before begin.
type span struct {
	begin, end history.Instant
	lease      int32
	clock      int32
	reading    bool
}

// overlaps calls yield for each span that one before it surely overlaps, with the one of those that ends last. Two
// overlap surely if each began before the other ended. Readers share the lock with each other. With across, only spans
// of different clocks are held against each other. It sorts the spans, and takes n log n time.
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
		n := i // those that began before s ended
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

// last is the two that come first by some order, of different kinds; -1 where there is none. That answers "which of all
// but my own kind?" at once.
type last struct{ first, second int32 }

func previous(ls []last, i int) last {
	if i == 0 {
		return last{-1, -1}
	}
	return ls[i-1]
}

// with returns l with one more: before orders them, and same tells whether two are of one kind.
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

// against returns the first of those that are not excluded, or -1.
func (l last) against(excluded func(int32) bool) int32 {
	if l.first >= 0 && excluded(l.first) {
		return l.second
	}
	return l.first
}
