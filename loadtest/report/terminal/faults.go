package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
)

// faults prints the grid of the fault scenarios, and which of its cells were run again or not at all.
func (p Printer) faults(rows []*catalog.Row) {
	p.faultGrid(rows)
	p.runOnceMore(rows)
	p.notRunBecause(rows)
}

// faultGrid prints the grid of the fault scenarios, with a legend.
func (p Printer) faultGrid(rows []*catalog.Row) {
	p.wrapped("", 0, fmt.Sprintf("faults%s; what broke: %s", leases(rows), legend))
	p.wrapped("", 0, "– does not apply, ? nobody can tell, n/r not run, inv not valid, "+
		"! not as expected, ~ with longer leases")
	g, repeat := gridOf(rows)
	if repeat > 1 {
		p.wrapped("", 0, fmt.Sprintf("each cell was run %d times; where not all were as expected, "+
			"it says below how many of them were", repeat))
	}
	for _, block := range g.blocks(p.width(), p.Colour) {
		for _, line := range block {
			fmt.Fprintln(p, line)
		}
		fmt.Fprintln(p)
	}
}

// gridOf returns the grid of the rows, and how often each cell was to be run.
func gridOf(rows []*catalog.Row) (g *grid, repeat int) {
	var places []place
	at := map[place]*catalog.Row{}
	for _, r := range rows {
		p := place{r.Scenario, r.Rung}
		places, at[p] = append(places, p), r
		repeat = max(repeat, len(r.Cells))
	}
	return newGrid(places, func(p place) entry {
		if r := at[p]; r != nil {
			return entryOf(r, repeat)
		}
		return absent(p)
	}), repeat
}

// runOnceMore lists the cells that were run again with longer leases.
func (p Printer) runOnceMore(rows []*catalog.Row) {
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
	p.wrapped("", 0, "run once more, with longer leases, as the machine was too slow or the fault did not come to pass: "+
		strings.Join(titles, ", "))
	fmt.Fprintln(p)
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

// notRunBecause lists the reasons why cells were not run.
func (p Printer) notRunBecause(rows []*catalog.Row) {
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
		p.wrapped("", 2, fmt.Sprintf("not run, %d: %s", count[why], why))
	}
	if len(reasons) > 0 {
		fmt.Fprintln(p)
	}
}
