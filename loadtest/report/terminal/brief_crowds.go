package terminal

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A crowd is a rung with its rows of the scenarios in which a crowd contends.
type crowd struct {
	rung string
	rows map[string]*catalog.Row
}

// briefCrowds prints a line for each rung: what broke in each scenario with a crowd, and the figures of the last of
// them. A long ladder is printed in two halves, side by side where there is room.
func (p Printer) briefCrowds(rows []*catalog.Row) {
	if len(rows) == 0 {
		return
	}
	scenarios, crowds := byRung(rows)
	last := scenarios[len(scenarios)-1]
	p.wrapped("", 2, fmt.Sprintf("a crowd, what broke: %s; figures of %s, cmds: commands to Redis for each sale",
		strings.Join(scenarios, ", "), last))
	table := [][]string{crowdHead(scenarios)}
	for _, c := range crowds {
		table = append(table, c.line(scenarios))
	}
	for _, line := range p.halves(table, scenarios, crowds) {
		fmt.Fprintln(p, line)
	}
	p.briefCoverage(rows)
	p.briefClients(rows)
	fmt.Fprintln(p)
}

// byRung returns the scenarios in their order, and the rows by rung, in the ladder's order.
func byRung(rows []*catalog.Row) (scenarios []string, crowds []*crowd) {
	of := map[string]*crowd{}
	for _, r := range rows {
		if !slices.Contains(scenarios, r.Scenario) {
			scenarios = append(scenarios, r.Scenario)
		}
		if of[r.Rung] == nil {
			of[r.Rung] = &crowd{r.Rung, map[string]*catalog.Row{}}
			crowds = append(crowds, of[r.Rung])
		}
		of[r.Rung].rows[r.Scenario] = r
	}
	slices.SortStableFunc(crowds, func(a, b *crowd) int { return height(a.rung) - height(b.rung) })
	return scenarios, crowds
}

// crowdHead returns the titles: one for one-instance, two for two-instances.
func crowdHead(scenarios []string) []string {
	head := []string{"rung"}
	for _, s := range scenarios {
		word, _, _ := strings.Cut(s, "-")
		head = append(head, word)
	}
	return append(head, "sold", "left", "twice", "req/s", "p99 ms", "cmds")
}

func (c *crowd) line(scenarios []string) []string {
	line := []string{c.rung}
	for _, s := range scenarios {
		line = append(line, c.entry(s).short())
	}
	r := c.rows[scenarios[len(scenarios)-1]]
	if r == nil || r.Shown().NotRun != "" {
		return append(line, "", "", "", "", "", "")
	}
	cell := r.Shown()
	t := cell.Tally()
	return append(line, fmt.Sprint(t.Sold), left(cell), fmt.Sprint(cell.SoldTwice()),
		rate(t.Buyers-t.NotSent, cell.Elapsed), millis(cell.Latency.P99), perSale(cell))
}

func (c *crowd) entry(scenario string) entry {
	if r := c.rows[scenario]; r != nil {
		return entryOf(r, 0)
	}
	return absent(place{scenario, c.rung})
}

// besides is the space between two halves of a table.
const besides = "  "

// halves draws the table, in two halves side by side if it is long and there is room.
func (p Printer) halves(table [][]string, scenarios []string, crowds []*crowd) []string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, s := range line {
			widths[i] = max(widths[i], text.StringWidth(s))
		}
	}
	whole := len(widths) - 1
	for _, w := range widths {
		whole += w
	}
	lines := make([]string, len(table))
	for i, line := range table {
		for j, s := range line {
			align := text.AlignRight
			if j <= len(scenarios) {
				align = text.AlignLeft
			}
			cell := align.Apply(s, widths[j])
			if i > 0 && j > 0 && j <= len(scenarios) {
				cell = crowds[i-1].entry(scenarios[j-1]).painted(cell, p.Colour)
			}
			lines[i] += cell + " "
		}
		lines[i] = strings.TrimSuffix(lines[i], " ")
	}
	const long = 20
	if len(crowds) <= long || 2*whole+len(besides) > p.width() {
		return lines
	}
	half := (len(crowds) + 1) / 2
	out := []string{lines[0] + besides + lines[0]}
	for i := 1; i <= half; i++ {
		line := lines[i]
		if i+half < len(lines) {
			line += besides + lines[i+half]
		}
		out = append(out, line)
	}
	return out
}

// briefClients says, of an open loop, from when its latency counts, and in how many crowds its rate was missed.
func (p Printer) briefClients(rows []*catalog.Row) {
	open, late := 0, 0
	for _, r := range rows {
		if c := r.Shown(); c.NotRun == "" && c.Client != nil && c.Client.Loop == "open" {
			open++
			if missed(c.Client) != "" {
				late++
			}
		}
	}
	if open > 0 {
		p.wrapped("", 2, fmt.Sprintf("open loop: p99 counts from when an order was due; "+
			"the rate was missed in %d of %d crowds", late, open))
	}
}

// briefCoverage says in a line what an ok of a crowd rests on.
func (p Printer) briefCoverage(rows []*catalog.Row) {
	var sum history.Coverage
	sales := math.MaxInt
	for _, r := range rows {
		c := r.Shown()
		if c.NotRun != "" || c.Coverage == nil || verdict(c) != string(history.OK) {
			continue
		}
		v := c.Coverage
		sales, sum.Rarer = min(sales, v.Sales), max(sum.Rarer, v.Rarer)
		sum.Checked, sum.Refusals = sum.Checked+v.Checked, sum.Refusals+v.Refusals
		sum.Judged, sum.Removals = sum.Judged+v.Judged, sum.Removals+v.Removals
		sum.LostReleases += v.LostReleases
		sum.Leases, sum.Expected, sum.Shared = sum.Leases+v.Leases, sum.Expected+v.Expected, sum.Shared+v.Shared
	}
	if sales == math.MaxInt {
		return
	}
	said := fmt.Sprintf("ok rests on %d sales a crowd, %d of %d refusals checked, %s, %s",
		sales, sum.Checked, sum.Refusals, leasesSeen(&sum), releasesJudged(&sum))
	if sum.Rarer > 0 {
		said += fmt.Sprintf("; rarer than 1 in %.0f not excluded", math.Floor(1/sum.Rarer+1e-9))
	}
	p.wrapped("", 2, said)
}
