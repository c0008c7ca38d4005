package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stockapi/loadtest/history"
)

// A histogram is one worker's histogram, in microseconds up to an hour, to one percent. Each worker has its own, so
// that recording needs no lock; they are merged afterwards.
type histogram struct{ h *hdrhistogram.Histogram }

func newHistogram() *histogram {
	return &histogram{hdrhistogram.New(1, time.Hour.Microseconds(), 2)}
}

func (s *histogram) record(d time.Duration) {
	d = min(max(d, time.Microsecond), time.Hour)
	_ = s.h.RecordValue(d.Microseconds()) // it is in range, by the line above
}

// LatencyOf returns the latency of the buyers of several loads together. It merges one histogram per load, since
// percentiles cannot be merged. Each op has its exact latency, so the histograms equal those of the workers.
func LatencyOf(loads ...[]history.Op) history.Latency {
	var all []*histogram
	for _, ops := range loads {
		hist := newHistogram()
		for i := range ops {
			if ops[i].Phase == history.Buy && ops[i].Outcome != history.NotSent {
				hist.record(ops[i].Latency)
			}
		}
		all = append(all, hist)
	}
	return merge(all)
}

func merge(all []*histogram) history.Latency {
	sum := newHistogram()
	for _, s := range all {
		sum.h.Merge(s.h)
	}
	quantile := func(q float64) time.Duration {
		return time.Duration(sum.h.ValueAtQuantile(q)) * time.Microsecond
	}
	return history.Latency{P50: quantile(50), P99: quantile(99), Max: time.Duration(sum.h.Max()) * time.Microsecond}
}
