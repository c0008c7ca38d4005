package terminal

import (
	"fmt"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// parties prints, if several load generators ran the cells together, the load of each, and whether they began at one
// instant.
func (p Printer) parties(rows []*catalog.Row) {
	var joint []*catalog.Row
	most := 0
	for _, r := range rows {
		if n := len(r.Shown().Parties); n > 0 {
			joint, most = append(joint, r), max(most, n)
		}
	}
	if len(joint) == 0 {
		return
	}
	p.wrapped("", 0, "of each party, requests per second; "+
		"when the last one began, after the first; how well their clocks are known")
	p.section(shares(most), joint)
	fmt.Fprintln(p)
}

// shares returns the columns for that many parties.
func shares(most int) []column {
	cols := []column{{"", 1, false, mark}, {"rung", 17, false, rung}}
	for i := range most {
		cols = append(cols, column{fmt.Sprintf("p%d", i+1), 5, true, func(_ *catalog.Row, c *history.Cell) string {
			if i >= len(c.Parties) {
				return ""
			}
			return rate(c.Parties[i].Buyers, c.Parties[i].Elapsed)
		}})
	}
	return append(cols,
		column{"began ms", 8, true, func(_ *catalog.Row, c *history.Cell) string { return millis(spread(c.Parties)) }},
		column{"clocks ms", 9, true, func(_ *catalog.Row, c *history.Cell) string { return "±" + millis(worst(c.Parties)) }},
	)
}

// spread returns the time between the first party's beginning and the last one's.
func spread(parties []history.Share) time.Duration {
	first, last := parties[0].Began, parties[0].Began
	for _, p := range parties {
		first, last = min(first, p.Began), max(last, p.Began)
	}
	return time.Duration(last - first)
}

// worst returns the largest error bound of the parties' clocks.
func worst(parties []history.Share) time.Duration {
	var most time.Duration
	for _, p := range parties {
		most = max(most, p.Within)
	}
	return most
}
