package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"stockapi/loadtest/history"
)

// A histogram counts durations in microseconds up to an hour, to one percent.
type histogram struct{ h *hdrhistogram.Histogram }

func newHistogram() *histogram {
	return &histogram{hdrhistogram.New(1, time.Hour.Microseconds(), 2)}
}

func (s *histogram) record(d time.Duration) {
	d = min(max(d, time.Microsecond), time.Hour)
	_ = s.h.RecordValue(d.Microseconds()) // it is in range, by the line above
}

func (s *histogram) summary() history.Latency {
	micros := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	return history.Latency{
		P50: micros(s.h.ValueAtQuantile(50)), P99: micros(s.h.ValueAtQuantile(99)), Max: micros(s.h.Max()),
	}
}
