package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// lesson prints in words what a run shows: what broke most and why, what held there, and where to look next. It tells
// only of what is as expected, since it gives the reasons of the expectations.
func (p Printer) lesson(o Run) {
	rows := filter(o.Rows, func(r *catalog.Row) bool {
		_, expected := r.Scenario.Expected(r.Rung)
		return expected && r.Ran() > 0 && len(r.Surprises)+len(r.Invalid) == 0
	})
	var next []string
	if worst := catalog.MostInstructive(rows); worst != "" {
		p.broke(worst, rows)
		next = append(next, "Why: `go run ./loadtest list "+worst+"`.")
	}
	if o.First {
		next = append(next, "Every rung: `go run ./loadtest all`.")
	}
	if len(next) > 0 {
		p.wrapped("", 2, strings.Join(next, " "))
	}
}

// broke prints what broke in a scenario, and what held.
func (p Printer) broke(worst string, rows []*catalog.Row) {
	there := filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name == worst })
	broken := map[string]int{}
	for _, r := range filter(rows, isBroken) {
		broken[r.Scenario.Name]++
	}
	lead := worst + " broke most:"
	switch most := slices.Max(slices.Collect(maps.Values(broken))); {
	case broken[worst] == 1 || len(there) == len(rows):
		lead = "In " + worst
	case broken[worst] < most:
		lead = "Most is learnt from " + worst + ":"
	}
	stock, lock := with(there, history.StockBroken), with(there, history.LockBroken)
	main := stock
	if len(stock) == 0 {
		main, lock = lock, nil
	}
	if len(main) == 0 {
		main = filter(there, isBroken)
	}
	p.wrapped("", 2, fmt.Sprintf("%s %s %s%s.", lead, listed(there, main), did(main), reason(there, main)))
	held := ""
	if len(lock) > 0 {
		held = fmt.Sprintf("The stock of %s held, though the lock broke%s. ", listed(there, lock), reason(there, lock))
	}
	if ok := with(there, history.Unbroken); len(ok) > 0 {
		held += except(rows, ok) + " held."
	}
	if held != "" {
		p.wrapped("", 2, held)
	}
}

// deeds say what a rung did, if a verdict is broken.
var deeds = []struct {
	verdict history.Verdict
	did     string
}{
	{history.Stock, "broke the stock"}, {history.Exclusion, "let two orders in at once"},
	{history.OwnRelease, "removed another's lock"}, {history.Fence, "gave tokens out of order"},
	{history.Liveness, "let nobody through in time"}, {history.InOrder, "served out of turn"},
	{history.Herd, "woke all who waited"},
}

// did says what rungs did that have the same severity.
func did(rows []*catalog.Row) string {
	var all []string
	for _, d := range deeds {
		broken := func(r *catalog.Row) bool { return r.Shown().Finding(d.verdict).Result == history.Broken }
		switch {
		case !slices.ContainsFunc(rows, broken):
		case d.verdict != history.Stock:
			all = append(all, d.did)
		case slices.ContainsFunc(rows, func(r *catalog.Row) bool { return r.Shown().SoldTwice() == 0 }):
			return d.did
		default:
			return "sold a unit twice"
		}
	}
	return strings.Join(all, ", or ")
}

func with(rows []*catalog.Row, s history.Severity) []*catalog.Row {
	return filter(rows, func(r *catalog.Row) bool { return history.SeverityOf(r.Shown().Findings) == s })
}

func isBroken(r *catalog.Row) bool { return history.SeverityOf(r.Shown().Findings).Broken() }

// listed names the rungs of some of the rows.
func listed(all, some []*catalog.Row) string {
	var rungs []string
	var at []int
	for _, r := range some {
		rungs, at = append(rungs, r.Rung), append(at, slices.Index(all, r))
	}
	return and(ranges(rungs, at))
}

func and(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// reason returns what is expected of the first of some of the rows, after the rungs of which it is true, unless that is
// so of all.
func reason(all, some []*catalog.Row) string {
	why := func(r *catalog.Row) string {
		e, _ := r.Scenario.Expected(r.Rung)
		return e.Why
	}
	same := filter(some, func(r *catalog.Row) bool {
		return strings.HasSuffix(why(r), why(some[0])) // "as v15: " may come before it
	})
	if len(same) == len(some) {
		return ": " + why(some[0])
	}
	return "; " + listed(all, same) + ": " + why(some[0])
}

// except names the rungs of rows that are ok, each with a scenario that breaks it, if there is one.
func except(all, ok []*catalog.Row) string {
	var names []string
	for _, r := range ok {
		broken := ""
		for _, other := range all {
			if other.Rung == r.Rung && isBroken(other) {
				broken = " (but not in " + other.Scenario.Name + ")"
				break
			}
		}
		names = append(names, r.Rung+broken)
	}
	return and(names)
}
