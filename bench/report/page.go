package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"

	"stockapi/bench/figures"
	"stockapi/bench/worker"
)

var (
	//go:embed page.gohtml
	layout string
	//go:embed page.css
	style string

	pageTemplate = template.Must(template.New("page").Parse(layout))
)

// A page is what the template shows.
type page struct {
	CSS           template.CSS
	Circumstances string
	Began         string
	Broken        []string
	Failures      []string
	Bars          []barSection
	Lines         []lineSection
	Tables        []pageTable
	Contenders    []Contender
}

// A barSection holds the bars of one point.
type barSection struct {
	Title, About string
	Charts       []chart
}

// A lineSection holds one metric over the number of waiters, a panel for each contender.
type lineSection struct {
	Title, About string
	Panels       []chart
}

// A chart is one drawing.
type chart struct {
	Title string
	SVG   template.HTML
}

type pageTable struct {
	Title string
	Head  []string
	Rows  []pageRow
}

type pageRow struct {
	Name, Kind string
	Cells      []pageCell
}

type pageCell struct{ Number, Ratio string }

// WriteHTML writes the page. It is one file that asks for no other, and has no script.
func (r *Report) WriteHTML(w io.Writer) error {
	p := page{CSS: template.CSS(style), Circumstances: r.circumstances(), Began: r.Began.Format("2006-01-02 15:04 MST"),
		Broken: r.Broken(), Failures: r.failures(), Contenders: r.Contenders}
	for _, point := range r.Main {
		if t := r.table(point); t != nil {
			p.Bars = append(p.Bars, barsOf(t))
		}
	}
	slices.Reverse(p.Bars) // what a shop needs first
	p.Lines = r.lines()
	for _, t := range r.Tables {
		p.Tables = append(p.Tables, tableOf(t))
	}
	return pageTemplate.Execute(w, p)
}

func tableOf(t *figures.Table) pageTable {
	out := pageTable{Title: pointName(t.Point)}
	for _, m := range metricsOf(t.Workload) {
		out.Head = append(out.Head, heading(m, t.Workload))
	}
	for _, row := range t.Sorted() {
		line := pageRow{Name: row.Contender, Kind: string(row.Kind)}
		for _, m := range metricsOf(t.Workload) {
			line.Cells = append(line.Cells, pageCell{number(row.Figures[m.ID]), ratio(row.Figures[m.ID])})
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// barsOf returns the bars of a point: of all its metrics if the lock is hot, else how often it could be taken.
func barsOf(t *figures.Table) barSection {
	s := barSection{Title: pointName(t.Point), About: "Each worker acquires and releases a lock of its own."}
	shown := []string{figures.Rate, figures.P99}
	if t.Workload == worker.Hot {
		s.About = "All workers want one lock: acquire, GET stock, SET stock − 1, release."
		shown = append(shown, figures.Unfairness, figures.Commands)
	}
	for _, m := range figures.Metrics {
		if slices.Contains(shown, m.ID) {
			s.Charts = append(s.Charts, chart{Title: caption(m, t.Workload), SVG: bars(t, m)})
		}
	}
	return s
}

// caption names a metric, and says which way is better.
func caption(m figures.Metric, w worker.Workload) string {
	if m.HigherIsBetter {
		return heading(m, w) + ", more is better"
	}
	return heading(m, w) + ", less is better"
}
