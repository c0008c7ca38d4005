// Package report prints and draws what was measured: table.go on the terminal, json.go into a file, and page.go, with
// bars.go and lines.go, as a page.
package report

import (
	"time"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
)

// A Report is everything that was measured.
type Report struct {
	Began  time.Time `json:"began"`
	Cores  int       `json:"cores"`
	System string    `json:"system"`
	Go     string    `json:"go"`
	Redis  string    `json:"redis"` // its version
	Rounds int       `json:"rounds"`
	Length string    `json:"length"` // of one measurement

	Contenders []Contender      `json:"contenders"`
	Main       []figures.Point  `json:"main"` // the points that are shown in full, one for each workload
	Tables     []*figures.Table `json:"points"`
}

// A Contender says what is compared.
type Contender struct {
	Name  string         `json:"name"`
	Kind  contender.Kind `json:"kind"`
	About string         `json:"about"`
}

// Add adds the figures of one measurement.
func (r *Report) Add(p figures.Point, name string, kind contender.Kind, s figures.Sample) {
	t := r.table(p)
	if t == nil {
		t = &figures.Table{Point: p}
		r.Tables = append(r.Tables, t)
	}
	row := t.Row(name)
	if row == nil {
		row = &figures.Row{Contender: name, Kind: kind}
		t.Rows = append(t.Rows, row)
	}
	row.Samples = append(row.Samples, s)
}

// table returns the table of a point, or nil.
func (r *Report) table(p figures.Point) *figures.Table {
	for _, t := range r.Tables {
		if t.Point == p {
			return t
		}
	}
	return nil
}

// Summarize computes medians and ratios.
func (r *Report) Summarize() {
	for _, t := range r.Tables {
		t.Summarize()
	}
}

// Empty reports whether nothing was measured.
func (r *Report) Empty() bool { return len(r.Tables) == 0 }

// Broken says of each lock that let two in, at which point, and what was sold twice.
func (r *Report) Broken() (sentences []string) {
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			if what := row.Broken(); what != "" {
				sentences = append(sentences, row.Contender+" is BROKEN at "+pointName(t.Point)+": "+what)
			}
		}
	}
	return sentences
}
