package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPercentile(t *testing.T) {
	var sorted []int64
	for n := range int64(1000) {
		sorted = append(sorted, n+1)
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 500, 0.99: 990, 0.999: 999, 1: 1000} {
		assert.InDelta(t, want, Percentile(sorted, share), 0, share)
	}
	assert.InDelta(t, 7.0, Percentile([]int64{7}, 0.999), 0, "of one value")
	assert.InDelta(t, 30.0, Percentile([]int64{10, 20, 30}, 0.99), 0, "of fewer values than the share can tell apart")
	assert.True(t, math.IsNaN(Percentile(nil, 0.5)))
}

func TestMedian(t *testing.T) {
	assert.InDelta(t, 2.0, Median([]float64{9, 1, 2}), 0)
	assert.InDelta(t, 1.5, Median([]float64{9, 1, 2, 1}), 0)
	assert.InDelta(t, 3.0, Median([]float64{math.NaN(), 3, math.NaN()}), 0, "a round without a figure counts for nothing")
	assert.True(t, math.IsNaN(Median(nil)))
	values := []float64{3, 1, 2}
	Median(values)
	assert.Equal(t, []float64{3, 1, 2}, values, "the caller's order stays")
}

func TestMostOverMean(t *testing.T) {
	assert.InDelta(t, 1.0, MostOverMean([]int64{5, 5, 5, 5}), 0)
	assert.InDelta(t, 4.0, MostOverMean([]int64{0, 20, 0, 0}), 0, "one of four did everything")
	assert.InDelta(t, 1.5, MostOverMean([]int64{3, 1}), 0)
	assert.True(t, math.IsNaN(MostOverMean([]int64{0, 0})))
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	slowHour := map[int]float64{1: 100, 2: 10, 3: 40}
	peer := map[int]float64{1: 50, 2: 5, 3: 20}
	assert.InDelta(t, 2.0, Ratios(slowHour, peer), 0, "the machine was slower in some rounds, for both")
	assert.InDelta(t, 2.0, Ratios(map[int]float64{1: 100, 7: 1}, peer), 0, "a round that one of them lacks")
	assert.True(t, math.IsNaN(Ratios(slowHour, map[int]float64{1: 0})), "a peer that did nothing")
}
