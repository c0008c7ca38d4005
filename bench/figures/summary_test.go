package figures

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

func TestSample(t *testing.T) {
	sent := int64(60)
	results := []worker.Result{
		{Requests: &sent, Workers: []worker.Tally{
			{Done: 30, TookUS: []int64{1000, 3000}}, {Done: 10, TookUS: []int64{2000}},
		}},
		{Requests: &sent, Workers: []worker.Tally{{Done: 20, TookUS: []int64{9000}, Failed: 1, Error: "away"}}},
	}
	s := Of(4, results, 2*time.Second, map[string]float64{"set": 60, "get": 30})
	for metric, want := range map[string]float64{
		Rate: 30, P50: 2, P99: 9, P999: 9, Unfairness: 1.5, Commands: 3, Requests: 2,
	} {
		require.NotNil(t, s.Values[metric], metric)
		assert.InDelta(t, want, *s.Values[metric], 0, metric)
	}
	assert.Equal(t, Sample{Round: 4, Values: s.Values, CommandsPerOp: map[string]float64{"set": 2, "get": 1},
		Done: 60, Failed: 1, Error: "away"}, s)
}

func TestSampleOfNothing(t *testing.T) {
	s := Of(1, []worker.Result{{Workers: make([]worker.Tally, 2)}}, time.Second, nil)
	assert.Zero(t, *s.Values[Rate])
	assert.Len(t, s.Values, 1, "what cannot be had is left out")
}

// rowOf returns a row with a rate for each round.
func rowOf(name string, kind contender.Kind, rates ...float64) *Row {
	r := &Row{Contender: name, Kind: kind}
	for i, rate := range rates {
		s := Sample{Round: i + 1, Values: map[string]*float64{}}
		s.set(Rate, rate)
		s.set(P99, 1000/rate)
		r.Samples = append(r.Samples, s)
	}
	return r
}

func TestSummary(t *testing.T) {
	table := &Table{Rows: []*Row{
		rowOf("slow", contender.Peer, 10, 5, 10),
		rowOf("quick", contender.Peer, 20, 10, 20),
		rowOf("v4", contender.Ours, 40, 20, 10),
		rowOf("alone", contender.Limit, 100, 100, 100),
	}}
	table.Summarize()
	assert.Equal(t, map[string]string{Rate: "quick", P99: "quick"}, table.BestPeer, "no limit, and none of ours")
	assert.Equal(t, &Figure{Median: 20, Least: 10, Most: 40, ToBestPeer: 2}, table.Row("v4").Figures[Rate])
	assert.InDelta(t, 0.5, table.Row("v4").Figures[P99].ToBestPeer, 0, "half the time")
	assert.InDelta(t, 1.0, table.Row("quick").Figures[Rate].ToBestPeer, 0)
	assert.Nil(t, table.Row("v4").Figures[Commands])
}

func TestABrokenPeerIsNoMeasure(t *testing.T) {
	table := &Table{Rows: []*Row{rowOf("broken", contender.Peer, 900), rowOf("sound", contender.Peer, 10)}}
	table.Rows[0].Samples[0].Broken = "a unit was sold twice"
	table.Summarize()
	assert.Equal(t, "sound", table.BestPeer[Rate])
}
