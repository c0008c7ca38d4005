package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// herd judges whether a release wakes more waiters than it has to: on average more than one per instance. Only one of
// them can acquire the lock; the others wait again, and their cost grows with their number. It is only judged where
// many orders are known to wait. Each wake-up is in the trace of the woken order.
func herd(b *books) history.Finding {
	if b.Waiting == 0 {
		return history.Finding{Verdict: history.Herd, Result: history.NotApplicable}
	}
	if why := b.clocks.notJudged(); why != "" {
		return answer(history.Herd, history.NotApplicable, "%s", why)
	}
	if b.unanswered > 0 {
		return answer(history.Herd, history.Indeterminate,
			"%d orders were never answered: which release woke which waiter is unknown", b.unanswered)
	}
	times, releases := b.wakes(b.inLine())
	if len(releases) == 0 {
		return answer(history.Herd, history.Indeterminate, "no order held the lock while others waited")
	}
	text := fmt.Sprintf("a release woke %s on average (%d at most)",
		waiters(float64(times)/float64(len(releases))), releases[0].woken)
	if why := b.notKept(); why != "" && times <= len(releases)*len(b.Instances) {
		return answer(history.Herd, history.Indeterminate, "%s: how often they were woken is unknown", why)
	}
	if times <= len(releases)*len(b.Instances) {
		return answer(history.Herd, history.OK, "%s", text)
	}
	return broken(history.Herd, b.evidenceOfHerd(text+", of which one acquired the lock", releases), 1)
}

func waiters(n float64) string {
	if n == 1 {
		return "1 waiter"
	}
	return fmt.Sprintf("%.3g waiters", n)
}

// A release is one for which orders waited; woken is the number that it woke.
type release struct {
	at    history.Instant
	op    int
	woken int
}

// wakes returns the number of wake-ups, and the releases for which orders waited, those that woke most
// first. A wake-up is attributed to the last release before it; the sum does not depend on that.
func (b *books) wakes(line []lease) (times int, releases []release) {
	releases = waitedFor(line)
	for _, op := range b.ops {
		for i := range op.Trace {
			if !op.Trace[i].Woken() {
				continue
			}
			times++
			if n := sort.Search(len(releases), func(j int) bool { return releases[j].at > op.Trace[i].At }); n > 0 {
				releases[n-1].woken++
			}
		}
	}
	slices.SortStableFunc(releases, func(a, b release) int { return cmp.Compare(b.woken, a.woken) })
	return times, releases
}

// waitedFor returns the releases at which another order waited: it had been sent and had not acquired the lock.
func waitedFor(line []lease) []release {
	var sent, had []history.Instant
	for i := range line {
		sent, had = append(sent, line[i].sent), append(had, line[i].acquired)
	}
	slices.Sort(sent)
	slices.Sort(had)
	before := func(times []history.Instant, at history.Instant) int {
		return sort.Search(len(times), func(i int) bool { return times[i] >= at })
	}
	var releases []release
	for i := range line {
		given := line[i].until
		waiting := before(sent, given) - before(had, given)
		if line[i].sent < given && given <= line[i].acquired {
			waiting-- // its own order
		}
		if waiting > 0 {
			releases = append(releases, release{at: given, op: line[i].op})
		}
	}
	slices.SortFunc(releases, func(a, b release) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.op, b.op)) })
	return releases
}

// evidenceOfHerd lists the releases that woke most, after a sentence about all of them.
func (b *books) evidenceOfHerd(text string, releases []release) []history.Evidence {
	ev := []history.Evidence{{Text: text}}
	for _, r := range releases[:min(len(releases), maxEvidence-1)] {
		op := b.ops[r.op]
		text := fmt.Sprintf("the release of %s on %s at %s woke %d", order(b.Cell, op), op.Instance, r.at, r.woken)
		ev = append(ev, evidence(text, []history.Instant{r.at}, op))
	}
	return ev
}
