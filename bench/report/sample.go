package report

import (
	"math"
	"slices"
	"time"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

// A Sample is one measurement of a contender.
type Sample struct {
	Contender string
	Kind      contender.Kind
	Workload  worker.Workload
	Waiters   int // workers in each process
	Round     int
	Length    time.Duration
	Values    map[string]float64 // by the metric's ID; one that could not be had is missing
	Failed    int64              // operations that failed, at any time
	Error     string             // of the first of them
	Broken    string             // what [Check] found
}

// A Metric is one figure of a measurement.
type Metric struct {
	ID, Name       string
	HigherIsBetter bool
}

// The metrics, in the order in which they are shown. All but the first are of the hot workload.
var (
	Free     = Metric{"free_ops_per_second", "free ops/s", true}
	Rate     = Metric{"sales_per_second", "hot sales/s", true}
	P50      = Metric{"p50_ms", "p50 ms", false}
	P99      = Metric{"p99_ms", "p99 ms", false}
	P999     = Metric{"p999_ms", "p99.9 ms", false}
	Unfair   = Metric{"most_over_mean", "most/mean", false}
	Commands = Metric{"commands_per_sale", "commands/sale", false}

	Metrics = []Metric{Free, Rate, P50, P99, P999, Unfair, Commands}
)

// Count takes the values from what all processes did, and from the rate per second at which Redis executed commands
// meanwhile, 0 if it does not say.
func (s *Sample) Count(results []worker.Result, commands float64) {
	var took, done []int64
	total := int64(0)
	for _, r := range results {
		for _, t := range r.Workers {
			took, done, total = append(took, t.TookUS...), append(done, t.Done), total+t.Done
			if s.Failed += t.Failed; s.Error == "" {
				s.Error = t.Error
			}
		}
	}
	perSecond := float64(total) / s.Length.Seconds()
	if s.Workload == worker.Free {
		s.Values = map[string]float64{Free.ID: perSecond}
		return
	}
	slices.Sort(took)
	s.Values = map[string]float64{Rate.ID: perSecond, P50.ID: Percentile(took, 0.5) / 1000,
		P99.ID: Percentile(took, 0.99) / 1000, P999.ID: Percentile(took, 0.999) / 1000, Unfair.ID: MostOverMean(done)}
	if commands > 0 {
		s.Values[Commands.ID] = commands / perSecond
	}
	for id, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			delete(s.Values, id)
		}
	}
}

// PerSecond returns how many operations a second were done.
func (s *Sample) PerSecond() float64 { return s.Values[Free.ID] + s.Values[Rate.ID] }

// A Figure is one metric of a contender over all rounds.
type Figure struct {
	Median float64
	// ToBestPeer is the ratio to the peer with the best median, taken round by round; its median. NaN if there is none.
	ToBestPeer float64
}

// Of returns the figures of a metric with a number of waiters, by contender.
func Of(samples []Sample, m Metric, waiters int) map[string]Figure {
	rounds, peers := map[string]map[int]float64{}, map[string]bool{}
	for i := range samples {
		s := &samples[i]
		if v, ok := s.Values[m.ID]; ok && s.Waiters == waiters {
			if rounds[s.Contender] == nil {
				rounds[s.Contender], peers[s.Contender] = map[int]float64{}, s.Kind == contender.Peer
			}
			rounds[s.Contender][s.Round] = v
			peers[s.Contender] = peers[s.Contender] && s.Broken == "" // a broken lock is no measure for others
		}
	}
	figures, best := map[string]Figure{}, ""
	for name, values := range rounds {
		var all []float64
		for _, v := range values {
			all = append(all, v)
		}
		figures[name] = Figure{Median: Median(all)}
		if peers[name] && (best == "" || (figures[name].Median > figures[best].Median) == m.HigherIsBetter) {
			best = name
		}
	}
	for name, f := range figures {
		f.ToBestPeer = Ratios(rounds[name], rounds[best])
		figures[name] = f
	}
	return figures
}
