package figures

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/bench/worker"
)

// sold returns the sales of units that were sold one after the other, by one worker.
func sold(units ...int64) (sales []Sale) {
	for _, unit := range units {
		sales = append(sales, Sale{Unit: unit, Process: 1, Worker: 2})
	}
	return sales
}

func TestForgedBooks(t *testing.T) {
	for name, c := range map[string]struct {
		books Books
		want  string // "" for books that are right
	}{
		"each unit once":            {Books{Initial: 10, Left: 7, Sales: sold(10, 8, 9)}, ""},
		"nothing sold":              {Books{Initial: 10, Left: 10}, ""},
		"a unit twice":              {Books{Initial: 10, Left: 8, Sales: sold(10, 9, 9)}, "1 of 3 sales sold a unit that was sold already"},
		"twice, and lost":           {Books{Initial: 10, Left: 7, Sales: sold(10, 9, 9)}, "unit 9 to worker 2 of process 1"},
		"a unit gone":               {Books{Initial: 10, Left: 7, Sales: sold(10, 9)}, "3 units are gone from the stock, and 2 were sold"},
		"too many sold":             {Books{Initial: 10, Left: 8, Sales: sold(10, 9, 8)}, "units 10 to 8 were sold; the stock went from 10 to 8"},
		"not in stock":              {Books{Initial: 10, Left: 8, Sales: sold(11, 10)}, "the stock went from 10 to 8"},
		"written, reply lost":       {Books{Initial: 10, Left: 7, Sales: sold(10, 8), Unknown: 1}, ""},
		"more lost than failed":     {Books{Initial: 10, Left: 6, Sales: sold(10, 7), Unknown: 1}, "4 units are gone"},
		"a failure excuses nothing": {Books{Initial: 10, Left: 8, Sales: sold(9, 9), Unknown: 5}, "sold already"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.books.Check(); c.want == "" {
				assert.Empty(t, got)
			} else {
				assert.Contains(t, got, c.want)
			}
		})
	}
}

func TestBooksOfSeveralProcesses(t *testing.T) {
	b := BooksOf(10, 7, []worker.Result{
		{Workers: []worker.Tally{{Sold: []int64{10}}, {Failed: 1}}},
		{Workers: []worker.Tally{{Sold: []int64{10, 8}}}},
	})
	assert.EqualValues(t, 1, b.Unknown)
	assert.Contains(t, b.Check(), "unit 10 to worker 0 of process 0 and to worker 0 of process 1")
}
