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
