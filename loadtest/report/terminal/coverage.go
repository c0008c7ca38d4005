package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// coverages prints, below a table, the evidence for each of its rows that is ok. Neighbours with the same text share a
// line.
func (p Printer) coverages(rows []*catalog.Row) {
	var all [][2]string // rungs, and the evidence for them
	for _, r := range rows {
		c := r.Shown()
		text := strings.Join(Coverage(c.Coverage), ", ")
		if text == "" || verdict(c) != string(history.OK) {
			continue
		}
		if n := len(all); n > 0 && all[n-1][1] == text {
			all[n-1][0] += ", " + r.Rung
			continue
		}
		all = append(all, [2]string{r.Rung, text})
	}
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(p, "evidence for ok")
	for _, s := range all {
		p.wrapped("  ", 4, s[0]+": "+s[1])
	}
	fmt.Fprintln(p)
}

// Coverage lists the evidence for the verdicts of a cell that are ok. Older files have none.
func Coverage(v *history.Coverage) []string {
	if v == nil {
		return nil
	}
	said := []string{
		fmt.Sprintf("%d sales", v.Sales),
		ifAny(v.Refusals, "%d of %d refusals checked", v.Checked, v.Refusals),
		v.WereBusy(),
		ifAny(v.Expected, "%d of %d leases", v.Leases, v.Expected) +
			ifAny(v.Shared, " and %d orders under another's", v.Shared),
		ifAny(v.Removals, "%d of %d releases judged", v.Judged, v.Removals) +
			ifAny(v.LostReleases, " and %d without a reply", v.LostReleases),
		ifAny(v.Resolution, "overlaps under %s ms would not show", millis(v.Resolution)),
		ifAny(v.Resolved+v.Unknown, "%d resolved later and %d unknown", v.Resolved, v.Unknown),
		v.WouldShow(),
	}
	return slices.DeleteFunc(said, func(s string) bool { return s == "" })
}

// ifAny is [fmt.Sprintf], but returns "" if n is zero.
func ifAny[N int | time.Duration](n N, format string, args ...any) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// clients prints, below a table, what the latencies of an open loop count from, and which cells missed the rate.
func (p Printer) clients(rows []*catalog.Row) {
	open := filter(rows, func(r *catalog.Row) bool {
		c := r.Shown()
		return c.Client != nil && c.Client.Loop == "open"
	})
	if len(open) == 0 {
		return
	}
	p.wrapped("", 2, "open loop: p50 and p99 count from the time at which an order was due")
	for _, r := range open {
		if missed := missed(r.Shown().Client); missed != "" {
			p.wrapped("  ", 4, r.Rung+": "+missed)
		}
	}
	fmt.Fprintln(p)
}

// missed describes by how much an open loop missed its rate; "" if it did not.
func missed(k *history.Client) string {
	if k.Rate >= 0.95*k.AskedRate && k.Lag < 100*time.Millisecond {
		return ""
	}
	return fmt.Sprintf("sent %.0f of the requested %.0f req/s, up to %s ms late (p99)", k.Rate, k.AskedRate,
		millis(k.Lag))
}
