package terminal

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// lesson prints in words what a run shows: what broke most and why, what held there, and where to look next. It tells
// only of what is as expected, since it gives the reasons of the expectations.
func (p Printer) lesson(o Outcome) {
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
	stock, lock := with(there, history.StockBroken), with(there, history.LockBroken)
	main, did := stock, "sold a unit twice"
	switch {
	case len(stock) == 0 && len(lock) > 0:
		main, lock, did = lock, nil, "let two orders in at once, or removed another's lock"
	case len(stock) == 0:
		main, did = with(there, history.Stuck, history.OutOfTurn, history.WokeAll), "let nobody through in time, or out of turn"
	case slices.ContainsFunc(stock, func(r *catalog.Row) bool { return r.Shown().SoldTwice() == 0 }):
		did = "broke the stock"
	}
	p.wrapped("", 2, fmt.Sprintf("%s broke most: %s %s: %s.", worst, listed(there, main), did, commonReason(main)))
	held := ""
	if len(lock) > 0 {
		held = fmt.Sprintf("The stock of %s held, though the lock broke: %s. ", listed(there, lock), commonReason(lock))
	}
	if ok := with(there, history.Unbroken); len(ok) > 0 {
		held += except(rows, ok) + " held."
	}
	if held != "" {
		p.wrapped("", 2, held)
	}
}

func with(rows []*catalog.Row, these ...history.Severity) []*catalog.Row {
	return filter(rows, func(r *catalog.Row) bool {
		return slices.Contains(these, history.SeverityOf(r.Shown().Findings))
	})
}

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

// commonReason returns the reason that is expected of most of the rows.
func commonReason(rows []*catalog.Row) string {
	of, why := map[string]int{}, ""
	for _, r := range rows {
		e, _ := r.Scenario.Expected(r.Rung)
		if of[e.Why]++; of[e.Why] > of[why] {
			why = e.Why
		}
	}
	return why
}

// except names the rungs of rows that are ok, each with a scenario that breaks it, if there is one.
func except(all, ok []*catalog.Row) string {
	var names []string
	for _, r := range ok {
		broken := ""
		for _, other := range all {
			if other.Rung == r.Rung && history.SeverityOf(other.Shown().Findings).Broken() {
				broken = " (but not in " + other.Scenario.Name + ")"
				break
			}
		}
		names = append(names, r.Rung+broken)
	}
	return and(names)
}
