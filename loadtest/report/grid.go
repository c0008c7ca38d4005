package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// letters stand for the verdicts in the grid, where a word each would not fit.
var letters = map[history.Verdict]string{
	history.Stock: "S", history.Exclusion: "E", history.OwnRelease: "R", history.Liveness: "L", history.Fence: "F",
}

// grid prints one line per rung and one column per scenario.
func grid(w io.Writer, rows []*scenario.Row, colour bool) {
	byName := map[[2]string]*scenario.Row{}
	for _, r := range rows {
		byName[[2]string{r.Scenario, r.Rung}] = r
	}
	fmt.Fprintf(w, "faults, under leases of %s; broken is S stock, E exclusion, R own-release, L liveness, F fence; – does not apply\n",
		rows[0].Shown().TTL)
	t := table.NewWriter()
	t.SetStyle(style())
	columns := columnsOf(rows)
	head := table.Row{"", "rung"}
	for _, s := range columns {
		head = append(head, strings.Replace(s, "-", "-\n", 1))
	}
	t.AppendHeader(head)
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 1, WidthMin: 1}, {Number: 2, WidthMin: 17}})
	for _, r := range scenario.Rungs {
		if line, some := gridLine(r, columns, byName, colour); some {
			t.AppendRow(line)
		}
	}
	for line := range strings.Lines(t.Render()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	fmt.Fprintln(w)
	notRunBecause(w, rows)
}

// columnsOf are the scenarios of the rows, in the table's order.
func columnsOf(rows []*scenario.Row) []string {
	var names []string
	for _, s := range scenario.Table {
		if slices.ContainsFunc(rows, func(r *scenario.Row) bool { return r.Scenario == s.Name }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// gridLine is the line of one rung, if any of its cells were asked for.
func gridLine(r scenario.Rung, scenarios []string, rows map[[2]string]*scenario.Row, colour bool) (line table.Row, some bool) {
	marked, cells := "", table.Row{}
	for _, s := range scenarios {
		row := rows[[2]string{s, r.Number}]
		if row == nil {
			cells = append(cells, absent(s, r.Number))
			continue
		}
		some = true
		if mark(row, nil) != "" {
			marked = "!"
		}
		v := gridCell(row)
		if colour {
			v = paint("verdict", v)
		}
		cells = append(cells, v)
	}
	if colour {
		marked = paint("", marked)
	}
	return append(table.Row{marked, rungIn(r)}, cells...), some
}

func rungIn(r scenario.Rung) string { return rung(&scenario.Row{Rung: r.Number, Name: r.Name}, nil) }

// absent is what stands for a cell that the run does not hold: it does not apply, or nobody asked for it.
func absent(name, rung string) string {
	if _, applies := scenario.Expected(name, rung); applies {
		return ""
	}
	return string(history.NotApplicable)
}

// gridCell is the worst result of the cell that stands for a row, and which verdicts it is of.
func gridCell(r *scenario.Row) string {
	c := r.Shown()
	if c.NotRun != "" {
		return "not run"
	}
	worst := history.Worst(c.Findings)
	text := string(worst)
	if worst == history.Broken || worst == history.Unclear {
		var of strings.Builder
		for _, f := range c.Findings {
			if f.Result == worst {
				of.WriteString(letters[f.Verdict])
			}
		}
		text += " " + of.String()
	}
	if len(r.Cells) > 1 {
		text += fmt.Sprintf(" %d/%d", r.Met, r.Ran())
	}
	if len(r.Surprises) > 0 {
		text += " !"
	}
	return text
}

// notRunBecause says, once per reason, why cells of the grid were not run.
func notRunBecause(w io.Writer, rows []*scenario.Row) {
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
