package report

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/bench/worker"
)

// A sale is one unit that a worker says it sold.
type sale struct {
	unit            int64
	process, worker int
}

func (s sale) seller() string { return fmt.Sprintf("worker %d of process %d", s.worker, s.process) }

// Check returns what is wrong with the books of a hot measurement in a sentence, or "". The numbers sold have to be
// exactly those that are gone from the stock, each once. A sale that failed may have written the stock: it explains one
// number that nobody sold.
func Check(initial, left int64, results []worker.Result) string {
	var sales []sale
	unknown := int64(0)
	for p, r := range results {
		for w, t := range r.Workers {
			unknown += t.Failed
			for _, unit := range t.Sold {
				sales = append(sales, sale{unit, p, w})
			}
		}
	}
	slices.SortStableFunc(sales, func(x, y sale) int { return cmp.Compare(y.unit, x.unit) })
	twice, example := 0, ""
	for i := 1; i < len(sales); i++ {
		if x, y := sales[i-1], sales[i]; x.unit == y.unit {
			twice++
			example = cmp.Or(example, fmt.Sprintf("unit %d to %s and to %s", x.unit, x.seller(), y.seller()))
		}
	}
	if twice > 0 {
		return fmt.Sprintf("%d of %d sales sold a unit that was sold already, such as %s", twice, len(sales), example)
	}
	if n := len(sales); n > 0 && (sales[0].unit > initial || sales[n-1].unit <= left) {
		return fmt.Sprintf("units %d to %d were sold; the stock went from %d to %d",
			sales[0].unit, sales[n-1].unit, initial, left)
	}
	if missing := initial - left - int64(len(sales)); missing < 0 || missing > unknown {
		return fmt.Sprintf("%d units are gone from the stock, and %d were sold", initial-left, len(sales))
	}
	return ""
}
