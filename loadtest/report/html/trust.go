package html

import (
	"fmt"
	"maps"
	"slices"

	"stockapi/loadtest/history"
)

type fact struct{ Name, Value string }

// facts are named values. Unknown values are left out.
type facts []fact

func (f *facts) add(known bool, name, format string, values ...any) {
	if known {
		*f = append(*f, fact{name, fmt.Sprintf(format, values...)})
	}
}

// client lists the measurements of the load generator itself.
func client(v *history.Client) (f facts) {
	if v == nil {
		return nil
	}
	f.add(true, "requests sent", "%d of %d", v.Delivered, v.Asked)
	f.add(true, "loop", "%s", clip(v.Loop, 20))
	f.add(true, "sent per second", "%.0f", v.Rate)
	f.add(v.AskedRate > 0, "requested per second", "%.0f", v.AskedRate)
	f.add(true, "sent after due, p99", "%s", millis(v.Lag))
	f.add(true, "without a CPU", "%s in all, %s at once", millis(v.Away), millis(v.Longest))
	f.add(v.FromSent.Max > 0, "latency since sent, p50 and p99", "%s and %s",
		millis(v.FromSent.P50), millis(v.FromSent.P99))
	kinds := slices.Sorted(maps.Keys(v.Errors))
	for _, what := range kinds[:min(len(kinds), maxErrors)] {
		f.add(true, "error", "%d times: %s", v.Errors[what], clip(what, 120))
	}
	return f
}

// maxErrors bounds the kinds of client errors that are listed.
const maxErrors = 8
