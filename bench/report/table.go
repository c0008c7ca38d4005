package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
	"stockapi/bench/worker"
)

// Print prints the main points in full, and of the others what is sold per second, its p99, and its commands.
func (r *Report) Print(w io.Writer) {
	if r.Empty() {
		return
	}
	fmt.Fprintf(w, "%s; × is the ratio to the best peer\n", r.circumstances())
	for _, p := range r.Main {
		if t := r.table(p); t != nil {
			fmt.Fprintf(w, "\n%s\n", pointName(p))
			r.printInFull(w, t)
		}
	}
	for _, m := range figures.Metrics {
		if m.ID == figures.Rate || m.ID == figures.P99 || m.ID == figures.Commands {
			r.printPoints(w, m)
		}
	}
	for _, sentence := range slices.Concat(r.Broken(), r.failures()) {
		fmt.Fprintf(w, "\n%s\n", sentence)
	}
}

// circumstances says where and how it was measured.
func (r *Report) circumstances() string {
	rounds := "1 round"
	if r.Rounds > 1 {
		rounds = fmt.Sprintf("medians of %d rounds", r.Rounds)
	}
	return fmt.Sprintf("%s, %d cores, Redis %s, %s; %s of %s", r.System, r.Cores, r.Redis, r.Go, rounds, r.Length)
}

// pointName names a point: hot, 2 × 32.
func pointName(p figures.Point) string {
	return fmt.Sprintf("%s, %d × %d", p.Workload, p.Processes, p.Waiters)
}

// heading returns the name of a metric of a workload, with its unit.
func heading(m figures.Metric, w worker.Workload) string {
	what := map[worker.Workload]string{worker.Hot: "sale", worker.Free: "op"}[w]
	switch {
	case m.ID == figures.Rate:
		return what + "s/s"
	case m.ID == figures.Commands || m.ID == figures.Requests:
		return m.Name + "/" + what
	case m.Unit != "":
		return m.Name + " " + m.Unit
	}
	return m.Name
}

// metricsOf lists the metrics that a workload has.
func metricsOf(w worker.Workload) []figures.Metric {
	return slices.DeleteFunc(slices.Clone(figures.Metrics), func(m figures.Metric) bool {
		return m.HotOnly && w != worker.Hot
	})
}

func (r *Report) printInFull(w io.Writer, t *figures.Table) {
	out, head := newTable(), table.Row{""}
	for _, m := range metricsOf(t.Workload) {
		head = append(head, heading(m, t.Workload), "×")
	}
	out.SuppressEmptyColumns() // of ratios, where there is no peer
	out.AppendHeader(head)
	var kind contender.Kind
	for _, row := range t.Sorted() {
		if kind != "" && row.Kind != kind {
			out.AppendSeparator()
		}
		kind = row.Kind
		line := table.Row{row.Contender}
		for _, m := range metricsOf(t.Workload) {
			line = append(line, number(row.Figures[m.ID]), ratio(row.Figures[m.ID]))
		}
		out.AppendRow(line)
	}
	fmt.Fprintln(w, out.Render())
}

// printPoints prints one metric of the hot workload at all points, if there are several.
func (r *Report) printPoints(w io.Writer, m figures.Metric) {
	points := r.hotPoints()
	if len(points) < 2 {
		return
	}
	out, head := newTable(), table.Row{""}
	for _, t := range points {
		head = append(head, fmt.Sprintf("%d × %d", t.Processes, t.Waiters))
	}
	out.AppendHeader(head)
	for _, c := range r.Contenders {
		line, measured := table.Row{c.Name}, false
		for _, t := range points {
			cell := ""
			if row := t.Row(c.Name); row != nil {
				cell, measured = number(row.Figures[m.ID]), true
			}
			line = append(line, cell)
		}
		if measured {
			out.AppendRow(line)
		}
	}
	fmt.Fprintf(w, "\nhot, %s, by processes × waiters in each\n%s\n", heading(m, worker.Hot), out.Render())
}

// hotPoints returns the tables of the hot workload, fewest processes and waiters first.
func (r *Report) hotPoints() (tables []*figures.Table) {
	for _, t := range r.Tables {
		if t.Workload == worker.Hot {
			tables = append(tables, t)
		}
	}
	slices.SortStableFunc(tables, func(a, b *figures.Table) int {
		return 10_000*(a.Processes-b.Processes) + a.Waiters - b.Waiters
	})
	return tables
}

func newTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.Style().Options.SeparateColumns = false
	t.Style().Format.Header = text.FormatDefault
	var right []table.ColumnConfig
	for n := 2; n < 40; n++ {
		right = append(right, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	return t
}

// number shows a median with three digits that count, and thousands in groups.
func number(f *figures.Figure) string {
	switch {
	case f == nil:
		return "–"
	case f.Median < 9.995:
		return fmt.Sprintf("%.2f", f.Median)
	case f.Median < 99.95:
		return fmt.Sprintf("%.1f", f.Median)
	}
	return grouped(fmt.Sprintf("%.0f", f.Median))
}

// grouped puts a comma between thousands.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func ratio(f *figures.Figure) string {
	switch {
	case f == nil || f.ToBestPeer == 0:
		return ""
	case f.ToBestPeer >= 10:
		return grouped(fmt.Sprintf("%.0f", f.ToBestPeer))
	}
	return fmt.Sprintf("%.2f", f.ToBestPeer)
}

// failures says of each contender whose operations failed how many did at which point, and why the first did.
func (r *Report) failures() (sentences []string) {
	for _, c := range r.Contenders {
		var counts []string
		why := ""
		for _, t := range r.Tables {
			row := t.Row(c.Name)
			if row == nil {
				continue
			}
			if n, first := row.Failed(); n > 0 {
				counts = append(counts, fmt.Sprintf("%d at %s", n, pointName(t.Point)))
				why = cmp.Or(why, first)
			}
		}
		if why != "" {
			sentences = append(sentences, fmt.Sprintf("%s: operations failed, %s; the first of them: %s",
				c.Name, strings.Join(counts, "; "), why))
		}
	}
	return sentences
}
