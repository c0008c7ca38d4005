package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
)

// pageWidth bounds the width of the printed results.
const pageWidth = 120

// faults prints the grid of the fault scenarios, with a legend.
func faults(w io.Writer, rows []*catalog.Row, colour bool) {
	var places []place
	at := map[place]*catalog.Row{}
	repeat := 0
	for _, r := range rows {
		p := place{r.Scenario, r.Rung}
		places, at[p] = append(places, p), r
		repeat = max(repeat, len(r.Cells))
	}
	fmt.Fprintf(w, "faults%s; what broke: %s\n", leases(rows), legend)
	fmt.Fprintln(w, "– does not apply, ? nobody can tell, n/r not run, inv not valid, "+
		"! not as expected, ~ with longer leases")
	if repeat > 1 {
		fmt.Fprintf(w, "each cell was run %d times; where not all were as expected, it says below how many of them were\n",
			repeat)
	}
	g := newGrid(places, func(p place) entry {
		if r := at[p]; r != nil {
			return entryOf(r, repeat)
		}
		return absent(p)
	})
	for _, block := range g.blocks(pageWidth, colour) {
		for _, line := range block {
			fmt.Fprintln(w, line)
		}
		fmt.Fprintln(w)
	}
	runOnceMore(w, rows)
	notRunBecause(w, rows)
}

// runOnceMore lists the cells that were run again with longer leases.
func runOnceMore(w io.Writer, rows []*catalog.Row) {
	var titles []string
	for _, r := range rows {
		for _, c := range r.Cells {
			if title := c.Scenario + " " + c.Rung; c.Longer > 0 && !slices.Contains(titles, title) {
				titles = append(titles, title)
			}
		}
	}
	if len(titles) == 0 {
		return
	}
	text := "run once more, with longer leases, as the machine was too slow or the fault did not come to pass: " +
		strings.Join(titles, ", ")
	for _, line := range wrap(text, pageWidth) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
}

// leases says how long locks lasted, if any cell was run.
func leases(rows []*catalog.Row) string {
	var ttls []time.Duration
	for _, r := range rows {
		if c := r.Shown(); c.NotRun == "" {
			ttls = append(ttls, c.TTL)
		}
	}
	if len(ttls) == 0 {
		return ""
	}
	shortest, longest := slices.Min(ttls), slices.Max(ttls)
	if shortest == longest {
		return fmt.Sprintf(", leases of %s", shortest)
	}
	return fmt.Sprintf(", leases of %s to %s", shortest, longest)
}

// notRunBecause lists the reasons why cells of the grid were not run.
func notRunBecause(w io.Writer, rows []*catalog.Row) {
	var reasons []string
	count := map[string]int{}
	for _, r := range rows {
		if why := r.Shown().NotRun; why != "" {
			if count[why]++; count[why] == 1 {
				reasons = append(reasons, why)
			}
		}
	}
	for _, why := range reasons {
		fmt.Fprintf(w, "not run, %d: %s\n", count[why], why)
	}
	if len(reasons) > 0 {
		fmt.Fprintln(w)
	}
}
