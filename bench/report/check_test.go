package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/bench/worker"
)

// sold returns what worker 2 of process 1 did: it sold units one after the other, and failed some times.
func sold(failed int64, units ...int64) []worker.Result {
	return []worker.Result{{}, {Workers: []worker.Tally{{}, {}, {Sold: units, Failed: failed}}}}
}

func TestForgedBooks(t *testing.T) {
	for name, c := range map[string]struct {
		left    int64 // of 10
		sold    []int64
		unknown int64
		want    string // "" for books that are right
	}{
		"each unit once":            {left: 7, sold: []int64{10, 8, 9}},
		"nothing sold":              {left: 10},
		"a unit twice":              {left: 8, sold: []int64{10, 9, 9}, want: "1 of 3 sales sold a unit that was sold"},
		"by whom":                   {left: 7, sold: []int64{10, 9, 9}, want: "unit 9 to worker 2 of process 1"},
		"a unit gone":               {left: 7, sold: []int64{10, 9}, want: "3 units are gone from the stock, and 2"},
		"too many sold":             {left: 8, sold: []int64{10, 9, 8}, want: "the stock went from 10 to 8"},
		"not in stock":              {left: 8, sold: []int64{11, 10}, want: "the stock went from 10 to 8"},
		"written, reply lost":       {left: 7, sold: []int64{10, 8}, unknown: 1},
		"more lost than failed":     {left: 6, sold: []int64{10, 7}, unknown: 1, want: "4 units are gone"},
		"a failure excuses nothing": {left: 8, sold: []int64{9, 9}, unknown: 5, want: "sold already"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Check(10, c.left, sold(c.unknown, c.sold...))
			if c.want == "" {
				assert.Empty(t, got)
			} else {
				assert.Contains(t, got, c.want)
			}
		})
	}
}

func TestBooksOfSeveralProcesses(t *testing.T) {
	assert.Contains(t, Check(10, 7, []worker.Result{
		{Workers: []worker.Tally{{Sold: []int64{10}}, {Failed: 1}}},
		{Workers: []worker.Tally{{Sold: []int64{10, 8}}}},
	}), "unit 10 to worker 0 of process 0 and to worker 0 of process 1")
}
