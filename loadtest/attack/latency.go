package attack

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stockapi/loadtest/history"
)

// stopwatch is one worker's histogram, in microseconds up to an hour, to one percent. Each worker has its own,
// so that measuring costs no lock; they are merged afterwards.
type stopwatch struct{ h *hdrhistogram.Histogram }

func newStopwatch() *stopwatch {
	return &stopwatch{hdrhistogram.New(1, time.Hour.Microseconds(), 2)}
}

func (s *stopwatch) record(d time.Duration) {
	d = min(max(d, time.Microsecond), time.Hour)
	_ = s.h.RecordValue(d.Microseconds()) // within its range by the line above
}

// LatencyOf returns the distribution over the buyers of several loads together. It is that of merged histograms, one of
// each load, which hold just what its workers' held: each op tells its latency in full. Percentiles cannot be merged.
func LatencyOf(loads ...[]history.Op) history.Latency {
	var all []*stopwatch
	for _, ops := range loads {
		clock := newStopwatch()
		for i := range ops {
			if ops[i].Phase == history.Buy && ops[i].Outcome != history.NotSent {
				clock.record(ops[i].Latency)
			}
		}
		all = append(all, clock)
	}
	return merge(all)
}

func merge(all []*stopwatch) history.Latency {
	sum := newStopwatch()
	for _, s := range all {
		sum.h.Merge(s.h)
	}
	quantile := func(q float64) time.Duration {
		return time.Duration(sum.h.ValueAtQuantile(q)) * time.Microsecond
	}
	return history.Latency{P50: quantile(50), P99: quantile(99), Max: time.Duration(sum.h.Max()) * time.Microsecond}
}
