package report

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

func TestSample(t *testing.T) {
	results := []worker.Result{
		{Workers: []worker.Tally{{Done: 30, TookUS: []int64{1000, 3000}}, {Done: 10, TookUS: []int64{2000}}}},
		{Workers: []worker.Tally{{Done: 20, TookUS: []int64{9000}, Failed: 1, Error: "away"}}},
	}
	hot := Sample{Workload: worker.Hot, Length: 2 * time.Second}
	hot.Count(results, 90)
	assert.Equal(t, map[string]float64{
		Rate.ID: 30, P50.ID: 2, P99.ID: 9, P999.ID: 9, Unfair.ID: 1.5, Commands.ID: 3,
	}, hot.Values)
	assert.EqualValues(t, 1, hot.Failed)
	assert.Equal(t, "away", hot.Error)
	free := Sample{Workload: worker.Free, Length: 2 * time.Second}
	free.Count(results, 90)
	assert.Equal(t, map[string]float64{Free.ID: 30}, free.Values)
}

func TestSampleOfNothing(t *testing.T) {
	s := Sample{Workload: worker.Hot, Length: time.Second}
	s.Count([]worker.Result{{Workers: make([]worker.Tally, 2)}}, 7)
	assert.Equal(t, map[string]float64{Rate.ID: 0}, s.Values, "what cannot be had is left out")
}

// samplesOf returns a sample for each round.
func samplesOf(name string, kind contender.Kind, rates ...float64) (samples []Sample) {
	for i, rate := range rates {
		samples = append(samples, Sample{Contender: name, Kind: kind, Waiters: 8, Round: i + 1,
			Values: map[string]float64{Rate.ID: rate, P99.ID: 1000 / rate}})
	}
	return samples
}

func TestFiguresOverAllRounds(t *testing.T) {
	samples := samplesOf("slow", contender.Peer, 10, 5, 10)
	samples = append(samples, samplesOf("quick", contender.Peer, 20, 10, 20)...)
	samples = append(samples, samplesOf("v4", contender.Ours, 40, 20, 10)...)
	samples = append(samples, samplesOf("alone", contender.Limit, 100, 100, 100)...)
	rates, p99 := Of(samples, Rate, 8), Of(samples, P99, 8)
	assert.Equal(t, Figure{Median: 20, ToBestPeer: 2}, rates["v4"], "to quick: no limit, and none of ours")
	assert.InDelta(t, 0.5, p99["v4"].ToBestPeer, 0, "half the time")
	assert.InDelta(t, 1.0, rates["quick"].ToBestPeer, 0)
	assert.Empty(t, Of(samples, Commands, 8))
	assert.Empty(t, Of(samples, Rate, 9))
	assert.True(t, math.IsNaN(Of(samples[6:], Rate, 8)["v4"].ToBestPeer), "without a peer")
}

func TestABrokenPeerIsNoMeasure(t *testing.T) {
	samples := append(samplesOf("broken", contender.Peer, 900), samplesOf("sound", contender.Peer, 10)...)
	samples[0].Broken = "a unit was sold twice"
	assert.InDelta(t, 90.0, Of(samples, Rate, 8)["broken"].ToBestPeer, 0)
}
