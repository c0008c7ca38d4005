package history

import "fmt"

// A Tally counts the ops of a cell's buyers by outcome.
type Tally struct{ Buyers, Sold, Refused, Busy, NotSold, NotSent, Unknown int }

// sums holds the totals of the ops of a cell.
type sums struct {
	tally   Tally
	unknown int   // ops of unknown outcome, of buyers and probes
	units   int64 // units that were sold, to buyers and probes
	probes  int64 // those of them sold to probes
	twice   int   // units named by more than one sale
}

// Tally returns the counts of the buyers, without the probes.
func (c *Cell) Tally() Tally { return c.sums().tally }

// AnyUnknown reports whether the outcome of any op is unknown, of a buyer or a probe.
func (c *Cell) AnyUnknown() bool { return c.sums().unknown > 0 }

// UnitsSold returns how many units were sold, to buyers and probes.
func (c *Cell) UnitsSold() int64 { return c.sums().units }

// LeftByBuyers returns how many units the buyers left, "?" if the stock is unknown. It adds the units that probes
// bought afterwards: a probe is meant to be refused, but of a stock too large to exceed it buys one unit.
func (c *Cell) LeftByBuyers() string {
	if c.Left == nil {
		return "?"
	}
	return fmt.Sprint(*c.Left + c.sums().probes)
}

// CommandsPerSale returns the commands per sale, "–" without a sale or if they were not counted.
func (c *Cell) CommandsPerSale() string {
	sold := c.Tally().Sold
	if c.Commands == nil || sold == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(*c.Commands)/float64(sold))
}

// SoldTwice returns how many units were named by more than one sale.
func (c *Cell) SoldTwice() int { return c.sums().twice }

func (c *Cell) sums() sums {
	var s sums
	named := map[int64]int{}
	for i := range c.Ops {
		op := &c.Ops[i]
		if op.Phase == Buy {
			s.tally.Buyers++
			s.tally.add(op.Outcome)
		}
		switch op.Outcome {
		case Unknown:
			s.unknown++
		case Sold:
			s.units += int64(len(op.Units))
			if op.Phase == Probe {
				s.probes += int64(len(op.Units))
			}
			for _, u := range op.Units {
				if named[u]++; named[u] == 2 {
					s.twice++
				}
			}
		}
	}
	return s
}

func (t *Tally) add(o Outcome) {
	switch o {
	case Sold:
		t.Sold++
	case Refused:
		t.Refused++
	case Busy:
		t.Busy++
	case NotSold:
		t.NotSold++
	case NotSent:
		t.NotSent++
	default:
		t.Unknown++
	}
}
