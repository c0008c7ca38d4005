package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// herd answers whether a release wakes more of those who wait than it has to: on average more than one per instance. One
// of them can get the lock, whoever is woken beside it goes back to wait, and what that costs grows with their number. It
// can only be asked where many were known to wait. Every wake is in the trace of the order that was woken.
func herd(c *history.Cell, k *clocks) history.Finding {
	if c.Waiting == 0 {
		return history.Finding{Verdict: history.Herd, Result: history.NotApplicable}
	}
	line := inLine(c)
	if why := untimed(c, k, line); why != "" {
		return found(history.Herd, history.Unclear, "%s: which release woke whom cannot be told", why)
	}
	woken, releases := wakes(c, line)
	if len(releases) == 0 {
		return found(history.Herd, history.Unclear, "nobody had the lock while others waited")
	}
	text := fmt.Sprintf("a release woke %s on average (%d at most)",
		waiters(float64(woken)/float64(len(releases))), releases[0].woken)
	if woken <= len(releases)*len(c.Instances) {
		return found(history.Herd, history.OK, "%s", text)
	}
	return broken(history.Herd, evidenceOfHerd(c, text+", of whom one got the lock", releases), 1)
}

func waiters(n float64) string {
	if n == 1 {
		return "1 waiter"
	}
	return fmt.Sprintf("%.3g waiters", n)
}

// release is one that somebody waited for, and how many it woke.
type release struct {
	*history.Op
	woken int
}

// wakes counts how often an order was woken, and returns the releases that somebody waited for, those that woke most
// first. A wake is put down to the last release before it. The sum does not depend on that.
func wakes(c *history.Cell, line []*history.Op) (woken int, releases []release) {
	slices.SortStableFunc(line, func(a, b *history.Op) int { return cmp.Compare(until(a.Lease), until(b.Lease)) })
	for _, op := range line {
		if slices.ContainsFunc(line, func(o *history.Op) bool { return waitedFor(op, o) }) {
			releases = append(releases, release{Op: op})
		}
	}
	for _, at := range wokenAt(c) {
		woken++
		for i := len(releases) - 1; i >= 0; i-- {
			if until(releases[i].Lease) <= at {
				releases[i].woken++
				break
			}
		}
	}
	slices.SortStableFunc(releases, func(a, b release) int { return cmp.Compare(b.woken, a.woken) })
	return woken, releases
}

// waitedFor reports whether the order waited for the lock when the holder gave it back.
func waitedFor(holder, o *history.Op) bool {
	given := until(holder.Lease)
	return o != holder && o.Sent < given && given <= o.Lease.AcquiredAt
}

// wokenAt returns when somebody was woken, each time.
func wokenAt(c *history.Cell) []history.Instant {
	var at []history.Instant
	for i := range c.Ops {
		for _, cmd := range c.Ops[i].Trace {
			if cmd.Cmd == "woken" {
				at = append(at, cmd.At)
			}
		}
	}
	return at
}

// evidenceOfHerd names the releases that woke most, after what is said of all.
func evidenceOfHerd(c *history.Cell, text string, releases []release) []history.Evidence {
	ev := []history.Evidence{{Text: text}}
	for _, r := range releases[:min(len(releases), maxEvidence-1)] {
		ev = append(ev, history.Evidence{
			Text:   fmt.Sprintf("the release of %s on %s at %s woke %d", order(c, r.Op), r.Instance, until(r.Lease), r.woken),
			Orders: []string{r.Order}, Instances: []string{r.Instance}, At: []history.Instant{until(r.Lease)},
		})
	}
	return ev
}
