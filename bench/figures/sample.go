package figures

import (
	"math"
	"slices"
	"time"

	"stockapi/bench/worker"
)

// A Sample holds the figures of one measurement.
type Sample struct {
	Round  int                 `json:"round"`
	Values map[string]*float64 `json:"values"` // by the metric's ID; one that could not be had is missing
	// CommandsPerOp says how often Redis executed each command for one operation, commands of scripts among them.
	CommandsPerOp map[string]float64 `json:"commands_per_op,omitempty"`
	Done          int64              `json:"done"`   // operations that ended while it was measured
	Failed        int64              `json:"failed"` // operations that failed, at any time
	Error         string             `json:"error,omitempty"`
	Broken        string             `json:"broken,omitempty"` // what the check of the books found
}

// A Metric is one figure of a measurement.
type Metric struct {
	ID, Name, Unit string
	HigherIsBetter bool
	HotOnly        bool
}

// The metrics.
const (
	Rate       = "per_second"
	P50        = "p50_ms"
	P99        = "p99_ms"
	P999       = "p999_ms"
	Unfairness = "most_over_mean"
	Commands   = "commands"
	Requests   = "requests"
)

// Metrics lists the figures, in the order in which they are shown.
var Metrics = []Metric{
	{ID: Rate, Name: "per second", HigherIsBetter: true},
	{ID: P50, Name: "p50", Unit: "ms"},
	{ID: P99, Name: "p99", Unit: "ms"},
	{ID: P999, Name: "p99.9", Unit: "ms"},
	{ID: Unfairness, Name: "most/mean", HotOnly: true},
	{ID: Commands, Name: "commands"},
	{ID: Requests, Name: "requests"},
}

// Of returns the figures of what all processes did within a window of that length. Commands has the rate per second at
// which Redis executed each command within it; nil if Redis does not say.
func Of(round int, results []worker.Result, length time.Duration, commands map[string]float64) Sample {
	s := Sample{Round: round, Values: map[string]*float64{}}
	var took, done []int64
	for _, t := range tallies(results) {
		took, done = append(took, t.TookUS...), append(done, t.Done)
		s.Done += t.Done
		if s.Failed += t.Failed; s.Error == "" {
			s.Error = t.Error
		}
	}
	slices.Sort(took)
	perSecond := float64(s.Done) / length.Seconds()
	s.set(Rate, perSecond)
	s.set(P50, Percentile(took, 0.5)/1000)
	s.set(P99, Percentile(took, 0.99)/1000)
	s.set(P999, Percentile(took, 0.999)/1000)
	s.set(Unfairness, MostOverMean(done))
	s.count(commands, perSecond)
	if sent, counted := requests(results); counted && s.Done > 0 {
		s.set(Requests, float64(sent)/float64(s.Done))
	}
	return s
}

// requests returns how many commands the processes sent, and whether all of them counted.
func requests(results []worker.Result) (sent int64, counted bool) {
	for _, r := range results {
		if r.Requests == nil {
			return 0, false
		}
		sent += *r.Requests
	}
	return sent, true
}

func tallies(results []worker.Result) (all []worker.Tally) {
	for _, r := range results {
		all = append(all, r.Workers...)
	}
	return all
}

// set leaves out what could not be had, which JSON cannot express.
func (s *Sample) set(metric string, value float64) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		s.Values[metric] = &value
	}
}

func (s *Sample) count(commands map[string]float64, perSecond float64) {
	if commands == nil || perSecond == 0 {
		return
	}
	total := 0.0
	s.CommandsPerOp = map[string]float64{}
	for name, rate := range commands {
		s.CommandsPerOp[name] = rate / perSecond
		total += rate / perSecond
	}
	s.set(Commands, total)
}

// BooksOf collects the sales of all processes.
func BooksOf(initial, left int64, results []worker.Result) Books {
	b := Books{Initial: initial, Left: left}
	for p, r := range results {
		for w, t := range r.Workers {
			b.Unknown += t.Failed
			for _, unit := range t.Sold {
				b.Sales = append(b.Sales, Sale{Unit: unit, Process: p, Worker: w})
			}
		}
	}
	return b
}
