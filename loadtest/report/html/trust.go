package html

import (
	"fmt"
	"maps"
	"slices"

	"stockapi/loadtest/history"
)

type fact struct{ Name, Value string }

// facts are named values. A value that is not known is left out.
type facts []fact

func (f *facts) add(known bool, name, format string, values ...any) {
	if known {
		*f = append(*f, fact{name, fmt.Sprintf(format, values...)})
	}
}

// coverage lists what an ok of the cell rests on. Older files do not have it.
func coverage(v *history.Coverage) (f facts) {
	if v == nil {
		return nil
	}
	f.add(true, "sales seen", "%d", v.Sales)
	f.add(v.Refusals > 0, "refusals checked against what was left", "%d of %d", v.Checked, v.Refusals)
	f.add(v.Expected > 0, "leases seen from beginning to end", "%d of %d", v.Leases, v.Expected)
	f.add(v.Shared > 0, "orders served under another's lease", "%d", v.Shared)
	f.add(v.Removals > 0, "releases judged", "%d of %d", v.Judged, v.Removals)
	f.add(v.LostReleases > 0, "releases without a reply", "%d", v.LostReleases)
	f.add(v.Resolution > 0, "overlaps that would not show", "under %s", millis(v.Resolution))
	f.add(v.WouldShow() != "", "enough to see", "%s", v.WouldShow())
	f.add(v.Resolved > 0, "outcomes asked for later", "%d", v.Resolved)
	f.add(true, "unknown outcomes", "%d", v.Unknown)
	return f
}

// client lists what the load generator measured of itself.
func client(v *history.Client) (f facts) {
	if v == nil {
		return nil
	}
	f.add(true, "requests that left the client", "%d of %d", v.Delivered, v.Asked)
	f.add(true, "loop", "%s", clip(v.Loop, 20))
	f.add(true, "sent per second", "%.0f", v.Rate)
	f.add(v.AskedRate > 0, "asked for per second", "%.0f", v.AskedRate)
	f.add(true, "sent after due, 99 of 100", "within %s", millis(v.Lag))
	f.add(true, "without the processor", "%s, %s at once", millis(v.Away), millis(v.Longest))
	f.add(v.FromSent.Max > 0, "latency from sent, p50 and p99", "%s and %s",
		millis(v.FromSent.P50), millis(v.FromSent.P99))
	kinds := slices.Sorted(maps.Keys(v.Errors))
	for _, what := range kinds[:min(len(kinds), maxErrors)] {
		f.add(true, "error", "%d times: %s", v.Errors[what], clip(what, 120))
	}
	return f
}

// maxErrors bounds the kinds of the client's errors that are listed.
const maxErrors = 8
