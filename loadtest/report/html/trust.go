package html

import (
	"fmt"
	"maps"
	"slices"

	"stockapi/loadtest/history"
)

// coverage lists what an ok of the cell rests on. Older files do not have it.
func coverage(v *history.Coverage) []fact {
	if v == nil {
		return nil
	}
	out := []fact{{"sales seen", fmt.Sprint(v.Sales)}}
	if v.Refusals > 0 {
		out = append(out, fact{"refusals checked against what was left", of(v.Checked, v.Refusals)})
	}
	if v.Expected > 0 {
		out = append(out, fact{"leases seen from beginning to end", of(v.Leases, v.Expected)})
	}
	if v.Shared > 0 {
		out = append(out, fact{"orders served under another's lease", fmt.Sprint(v.Shared)})
	}
	if v.Removals > 0 {
		out = append(out, fact{"releases judged", of(v.Judged, v.Removals)})
	}
	if v.LostReleases > 0 {
		out = append(out, fact{"releases without a reply", fmt.Sprint(v.LostReleases)})
	}
	if v.Resolution > 0 {
		out = append(out, fact{"overlaps that would not show", "under " + millis(v.Resolution)})
	}
	if v.Rarer > 0 {
		out = append(out, fact{"not excluded", fmt.Sprintf("a fault rarer than 1 sale in %.0f", 1/v.Rarer)})
	}
	if v.Resolved > 0 {
		out = append(out, fact{"outcomes asked for later", fmt.Sprint(v.Resolved)})
	}
	return append(out, fact{"unknown outcomes", fmt.Sprint(v.Unknown)})
}

// client lists what the load generator measured of itself.
func client(v *history.Client) []fact {
	if v == nil {
		return nil
	}
	out := []fact{
		{"requests that left the client", of(v.Delivered, v.Asked)},
		{"loop", clip(v.Loop, 20)},
		{"sent per second", rate(v)},
		{"sent after due, 99 of 100", "within " + millis(v.Lag)},
		{"without the processor", fmt.Sprintf("%s, %s at once", millis(v.Away), millis(v.Longest))},
	}
	if v.Start > 0 {
		out = append(out, fact{"all had begun after", millis(v.Start)})
	}
	if v.FromSent.Max > 0 {
		out = append(out, fact{"latency from sent, p50 and p99", millis(v.FromSent.P50) + " and " + millis(v.FromSent.P99)})
	}
	for i, what := range slices.Sorted(maps.Keys(v.Errors)) {
		if i == maxErrors {
			out = append(out, fact{"further errors", fmt.Sprint(len(v.Errors) - i)})
			break
		}
		out = append(out, fact{"error", fmt.Sprintf("%d times: %s", v.Errors[what], clip(what, 120))})
	}
	return out
}

// maxErrors bounds the kinds of the client's errors that are listed.
const maxErrors = 8

func of(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }

func rate(v *history.Client) string {
	if v.AskedRate > 0 {
		return fmt.Sprintf("%.0f of %.0f asked for", v.Rate, v.AskedRate)
	}
	return fmt.Sprintf("%.0f", v.Rate)
}
