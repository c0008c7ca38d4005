// Package report turns what workers did into figures, and shows them: as a table in Markdown, and as a file of every
// measurement with plots.
//
// Reading order: sample.go (the figures of one measurement, and their medians and ratios over all rounds), stats.go,
// check.go (that no unit was sold twice), report.go, plot.go.
package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/bench/contender"
)

// A Report is everything that was measured.
type Report struct {
	About      string // where and how
	Processes  int
	Contenders []contender.Contender // ours, then the peers, then the limits
	Samples    []Sample
}

// waiters lists the numbers of waiters, in the order in which they were first measured.
func (r *Report) waiters() (numbers []int) {
	for i := range r.Samples {
		if n := r.Samples[i].Waiters; !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Print prints a table for each number of waiters, and what went wrong.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintln(w, r.About+"; × is the ratio to the best peer")
	for _, n := range r.waiters() {
		fmt.Fprintf(w, "\n%d waiters in each of %d processes:\n\n%s\n", n, r.Processes, r.table(n))
	}
	for _, sentence := range slices.Concat(r.Broken(), r.failures()) {
		fmt.Fprintf(w, "\n%s\n", sentence)
	}
}

// table returns a line for each contender and a column for each metric that was measured.
func (r *Report) table(waiters int) string {
	t := table.NewWriter()
	t.Style().Format.Header = text.FormatDefault
	t.Style().Markdown.PadContent = true
	var columns []map[string]Figure
	head := table.Row{""}
	for _, m := range Metrics {
		if of := Of(r.Samples, m, waiters); len(of) > 0 {
			columns, head = append(columns, of), append(head, m.Name)
		}
	}
	t.AppendHeader(head)
	for _, c := range r.Contenders {
		line, measured := table.Row{c.Name}, false
		for _, of := range columns {
			f, ok := of[c.Name]
			line, measured = append(line, cell(f, ok)), measured || ok
		}
		if measured {
			t.AppendRow(line)
		}
	}
	return t.RenderMarkdown()
}

// cell shows a median with three significant digits or all before the point, and its ratio.
func cell(f Figure, ok bool) string {
	switch {
	case !ok:
		return "–"
	case math.IsNaN(f.ToBestPeer):
		return number(f.Median)
	}
	return fmt.Sprintf("%s · %s×", number(f.Median), number(f.ToBestPeer))
}

func number(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return humanize.Comma(int64(math.Round(v)))
}

// Broken says of each lock that let two in, with how many waiters, and what was sold twice; of each but once.
func (r *Report) Broken() (sentences []string) {
	seen := map[string]bool{}
	for i := range r.Samples {
		s := &r.Samples[i]
		where := fmt.Sprintf("%s is BROKEN with %d waiters in each of %d processes: ", s.Contender, s.Waiters, r.Processes)
		if s.Broken != "" && !seen[where] {
			seen[where] = true
			sentences = append(sentences, where+s.Broken)
		}
	}
	return sentences
}

// failures says of each contender how many of its operations failed, and why the first did.
func (r *Report) failures() (sentences []string) {
	for _, c := range r.Contenders {
		failed, why := int64(0), ""
		for i := range r.Samples {
			if s := &r.Samples[i]; s.Contender == c.Name {
				failed, why = failed+s.Failed, cmp.Or(why, s.Error)
			}
		}
		if failed > 0 {
			sentences = append(sentences, fmt.Sprintf("%s: %d operations failed; the first of them: %s", c.Name, failed, why))
		}
	}
	return sentences
}

// Write writes bench.csv, and plots if there are several numbers of waiters, into a directory, which it makes.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var out strings.Builder
	if err := r.writeCSV(&out); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.csv"), []byte(out.String()), 0o644); err != nil {
		return err
	}
	if len(r.waiters()) < 2 {
		return nil
	}
	for name, m := range map[string]Metric{
		"sales": Rate, "p99": P99, "commands": Commands,
	} {
		if err := r.plot(filepath.Join(dir, name+".svg"), m); err != nil {
			return fmt.Errorf("plot the %s: %w", name, err)
		}
	}
	return nil
}

// writeCSV writes a line for each measurement.
func (r *Report) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"contender", "workload", "processes", "waiters", "round"}
	for _, m := range Metrics {
		head = append(head, m.ID)
	}
	lines := [][]string{append(head, "failed", "broken")}
	for i := range r.Samples {
		s := &r.Samples[i]
		line := []string{s.Contender, string(s.Workload), fmt.Sprint(r.Processes), fmt.Sprint(s.Waiters), fmt.Sprint(s.Round)}
		for _, m := range Metrics {
			value := ""
			if v, ok := s.Values[m.ID]; ok {
				value = fmt.Sprintf("%.6g", v)
			}
			line = append(line, value)
		}
		lines = append(lines, append(line, fmt.Sprint(s.Failed), s.Broken))
	}
	return out.WriteAll(lines)
}
