package figures

import (
	"cmp"
	"fmt"
	"slices"
)

// A Sale is one unit that a worker says it sold.
type Sale struct {
	Unit            int64
	Process, Worker int
}

func (s Sale) seller() string { return fmt.Sprintf("worker %d of process %d", s.Worker, s.Process) }

// Books holds what is needed to check a hot measurement: the stock before and after it, and every sale.
type Books struct {
	Initial, Left int64
	Sales         []Sale
	Unknown       int64 // sales that failed: the stock may have been written or not
}

// Check returns what is wrong in a sentence, or "". The numbers sold have to be exactly those that are gone from the
// stock, each once. A sale of unknown outcome explains one number that nobody sold.
func (b Books) Check() string {
	sales := slices.SortedFunc(slices.Values(b.Sales), func(x, y Sale) int { return cmp.Compare(y.Unit, x.Unit) })
	twice, example := 0, ""
	for i := 1; i < len(sales); i++ {
		if x, y := sales[i-1], sales[i]; x.Unit == y.Unit {
			if twice++; example == "" {
				example = fmt.Sprintf("unit %d to %s and to %s", x.Unit, x.seller(), y.seller())
			}
		}
	}
	if twice > 0 {
		return fmt.Sprintf("%d of %d sales sold a unit that was sold already, such as %s", twice, len(sales), example)
	}
	if n := len(sales); n > 0 && (sales[0].Unit > b.Initial || sales[n-1].Unit <= b.Left) {
		return fmt.Sprintf("units %d to %d were sold; the stock went from %d to %d",
			sales[0].Unit, sales[n-1].Unit, b.Initial, b.Left)
	}
	if missing := b.Initial - b.Left - int64(len(sales)); missing < 0 || missing > b.Unknown {
		return fmt.Sprintf("%d units are gone from the stock, and %d were sold", b.Initial-b.Left, len(sales))
	}
	return ""
}
