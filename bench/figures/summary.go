package figures

import (
	"math"
	"slices"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

// A Point is a workload with a number of processes, and of workers in each.
type Point struct {
	Workload  worker.Workload `json:"workload"`
	Processes int             `json:"processes"`
	Waiters   int             `json:"waiters"`
}

// A Row is one contender at one point.
type Row struct {
	Contender string             `json:"contender"`
	Kind      contender.Kind     `json:"kind"`
	Samples   []Sample           `json:"rounds"`
	Figures   map[string]*Figure `json:"figures"` // by the metric's ID
}

// A Figure is one metric over all rounds.
type Figure struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	// ToBestPeer is the ratio to the peer with the best median, taken round by round; its median. 0 if there is none.
	ToBestPeer float64 `json:"to_best_peer,omitempty"`
}

// A Table holds all rows of a point.
type Table struct {
	Point
	BestPeer map[string]string `json:"best_peer"` // the peer with the best median, by the metric's ID
	Rows     []*Row            `json:"rows"`
}

// Row returns the row of a contender, or nil.
func (t *Table) Row(name string) *Row {
	for _, r := range t.Rows {
		if r.Contender == name {
			return r
		}
	}
	return nil
}

// Sorted returns the rows by kind, ours first, and within a kind as they were added.
func (t *Table) Sorted() []*Row {
	order := []contender.Kind{contender.Ours, contender.Peer, contender.Limit}
	rows := slices.Clone(t.Rows)
	slices.SortStableFunc(rows, func(a, b *Row) int {
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return rows
}

// Summarize computes the figures of all rows from their samples.
func (t *Table) Summarize() {
	t.BestPeer = map[string]string{}
	for _, m := range Metrics {
		for _, r := range t.Rows {
			r.summarize(m)
		}
		best := t.bestPeer(m)
		if best == nil {
			continue
		}
		t.BestPeer[m.ID] = best.Contender
		for _, r := range t.Rows {
			if ratio := Ratios(r.values(m), best.values(m)); r.Figures[m.ID] != nil && !math.IsNaN(ratio) {
				r.Figures[m.ID].ToBestPeer = ratio
			}
		}
	}
}

func (r *Row) summarize(m Metric) {
	if r.Figures == nil {
		r.Figures = map[string]*Figure{}
	}
	var values []float64
	f := Figure{Least: math.Inf(1), Most: math.Inf(-1)}
	for _, v := range r.values(m) {
		values = append(values, v)
		f.Least, f.Most = min(f.Least, v), max(f.Most, v)
	}
	if f.Median = Median(values); !math.IsNaN(f.Median) {
		r.Figures[m.ID] = &f
	}
}

// values returns a metric of a row by the number of the round.
func (r *Row) values(m Metric) map[int]float64 {
	values := map[int]float64{}
	for _, s := range r.Samples {
		if v := s.Values[m.ID]; v != nil {
			values[s.Round] = *v
		}
	}
	return values
}

// bestPeer returns the peer with the best median, or nil. A peer whose lock let two in is no measure for others.
func (t *Table) bestPeer(m Metric) (best *Row) {
	for _, r := range t.Rows {
		f := r.Figures[m.ID]
		if r.Kind != contender.Peer || f == nil || r.Broken() != "" {
			continue
		}
		if best == nil || (f.Median > best.Figures[m.ID].Median) == m.HigherIsBetter {
			best = r
		}
	}
	return best
}

// Broken returns what was wrong with the books in the first round in which they were, or "".
func (r *Row) Broken() string {
	for _, s := range r.Samples {
		if s.Broken != "" {
			return s.Broken
		}
	}
	return ""
}

// Failed returns how many operations failed, and the error of the first of them.
func (r *Row) Failed() (n int64, first string) {
	for _, s := range r.Samples {
		if n += s.Failed; first == "" {
			first = s.Error
		}
	}
	return n, first
}
