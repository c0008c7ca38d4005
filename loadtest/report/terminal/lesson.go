package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// lesson prints the lesson of a run, and the next commands.
func (p Printer) lesson(o Run) {
	worst, sentences := LessonOf(o.Rows)
	for _, s := range sentences {
		p.wrapped("", 2, s)
	}
	var next []string
	if worst != "" {
		next = append(next, "Why: `go run ./loadtest list "+worst+brokenIn(worst, o.Rows)+"`.")
	}
	if o.First {
		next = append(next, "Every rung: `go run ./loadtest all`.")
	}
	if len(next) > 0 {
		p.wrapped("", 2, strings.Join(next, " "))
	}
}

// brokenIn names the rungs that a scenario broke, after a space; none if they are too many for a command line.
func brokenIn(worst string, rows []*catalog.Row) string {
	broken := filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name == worst && isBroken(r) })
	if len(broken) > 3 {
		return ""
	}
	names := []string{""}
	for _, r := range broken {
		names = append(names, r.Rung)
	}
	return strings.Join(names, " ")
}

// LessonOf returns the most instructive scenario, and sentences on which rungs broke in it, why, and which held. It
// covers only cells that are as expected, since it quotes the reasons of the expectations. If nothing broke, both are
// empty.
func LessonOf(rows []*catalog.Row) (worst string, sentences []string) {
	rows = filter(rows, func(r *catalog.Row) bool {
		_, expected := r.Scenario.Expected(r.Rung)
		return expected && r.Ran() > 0 && len(r.Surprises)+len(r.Invalid) == 0
	})
	worst = catalog.MostInstructive(rows)
	if worst == "" {
		return "", nil
	}
	there := filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name == worst })
	stock, lock := with(there, history.StockBroken), with(there, history.LockBroken)
	main := stock
	if len(stock) == 0 {
		main, lock = lock, nil
	}
	if len(main) == 0 {
		main = filter(there, isBroken)
	}
	sentences = append(sentences, fmt.Sprintf("%s on %s %s%s.", lead(worst, there, rows), list(there, main),
		whatHappened(main), reason(there, main)))
	held := ""
	if len(lock) > 0 {
		held = fmt.Sprintf("The stock of %s held, though the lock broke%s. ", list(there, lock), reason(there, lock))
	}
	if ok := with(there, history.Unbroken); len(ok) > 0 {
		held += except(rows, ok) + " held."
	}
	if held != "" {
		sentences = append(sentences, strings.TrimSpace(held))
	}
	return worst, sentences
}

// lead returns the beginning of the sentence about a scenario, some of whose rows broke.
func lead(worst string, there, rows []*catalog.Row) string {
	broken := map[string]int{}
	for _, r := range filter(rows, isBroken) {
		broken[r.Scenario.Name]++
	}
	switch most := slices.Max(slices.Collect(maps.Values(broken))); {
	case broken[worst] == 1 || len(there) == len(rows):
		return "In " + worst + ","
	case broken[worst] < most:
		return "The most instructive is " + worst + ":"
	}
	return worst + " broke the most:"
}

// Happenings describe the violations of each verdict in a few words.
var Happenings = map[history.Verdict]string{
	history.Stock:      "units sold and units left do not add up",
	history.Exclusion:  "two orders held the lock at once",
	history.OwnRelease: "an order removed a lock that was not its own",
	history.Fence:      "the fencing tokens are not in order",
	history.Liveness:   "no order got through in time",
	history.InOrder:    "orders acquired the lock out of turn",
	history.Herd:       "one release woke all waiters",
}

// whatHappened describes the violations of rows with the same severity.
func whatHappened(rows []*catalog.Row) string {
	var all []string
	for _, v := range history.Verdicts {
		broken := func(r *catalog.Row) bool { return r.Shown().Finding(v).Result == history.Broken }
		once := func(r *catalog.Row) bool { return r.Shown().SoldTwice() == 0 }
		switch {
		case !slices.ContainsFunc(rows, broken):
		case v == history.Stock && slices.ContainsFunc(rows, once):
			return Happenings[v]
		case v == history.Stock:
			return "a unit was sold twice"
		default:
			all = append(all, Happenings[v])
		}
	}
	return strings.Join(all, ", or ")
}

func with(rows []*catalog.Row, s history.Severity) []*catalog.Row {
	return filter(rows, func(r *catalog.Row) bool { return history.SeverityOf(r.Shown().Findings) == s })
}

func isBroken(r *catalog.Row) bool { return history.SeverityOf(r.Shown().Findings).Broken() }

// list names the rungs of some of the rows.
func list(all, some []*catalog.Row) string {
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

// reason returns the reason for the expectation of the first of some rows. If it does not apply to all, it begins with
// the rungs to which it applies.
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
	return "; " + list(all, same) + ": " + why(some[0])
}

// except names the rungs of rows that are ok, each with a scenario that breaks it, if any: preferably one that breaks
// its stock.
func except(all, ok []*catalog.Row) string {
	var names []string
	for _, r := range ok {
		own := filter(all, func(other *catalog.Row) bool { return other.Rung == r.Rung && isBroken(other) })
		stock, lock, exception := with(own, history.StockBroken), with(own, history.LockBroken), ""
		switch {
		case len(own) == 0:
		case len(stock) == 0 && len(lock) > 0:
			exception = " (in " + lock[0].Scenario.Name + " its stock alone)"
		default:
			exception = " (but not in " + append(stock, own...)[0].Scenario.Name + ")"
		}
		names = append(names, r.Rung+exception)
	}
	return and(names)
}
