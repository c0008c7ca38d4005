package porcupine

import "stockapi/loadtest/history"

const (
	// maxOthers bounds the refused orders, and those of unknown outcome, that are shown beside the sales. With some tens
	// of the latter Porcupine does not finish.
	maxOthers = 6
	// maxOperations is the most that Porcupine is asked about.
	maxOperations = 2000
)

// sales are the sales of a cell around a violation, ready to be cut into windows.
type sales struct {
	cell  *history.Cell
	times times
	kept  keptOrders
	// above maps a unit to the sale whose units begin above it, below to the sale whose units end below it. Of several it
	// is the one that ended first, because the others followed from it.
	above, below map[int64]*history.Op
}

// maxQuantity bounds how many units a window assumes one order to buy.
const maxQuantity = 1000

// salesAround finds the sales whose units are so near to those of the violation's first order that the widest window
// may reach them.
func salesAround(c *history.Cell, t times, kept keptOrders, violation []*history.Op) *sales {
	s := &sales{cell: c, times: t, kept: kept, above: map[int64]*history.Op{}, below: map[int64]*history.Op{}}
	low, high := unitRange(violation[0])
	widest := 0
	for _, op := range c.All() {
		if op.Outcome == history.Sold {
			widest = max(widest, len(op.Units))
		}
	}
	reach := float64(reaches[0]*min(widest, maxQuantity) + 1) // a forged unit may be any number
	near := func(unit int64) bool {
		return float64(unit) >= float64(low)-reach && float64(unit) <= float64(high)+reach
	}
	for i, op := range c.All() {
		if low, high := unitRange(op); op.Outcome == history.Sold && near(low) && near(high) {
			s.index(s.above, low-1, i, op)
			s.index(s.below, high+1, i, op)
		}
	}
	return s
}

func (s *sales) index(by map[int64]*history.Op, unit int64, i int, op *history.Op) {
	if by[unit] == nil || s.times.of(op).ret < s.times.of(by[unit]).ret {
		by[unit] = s.kept.keep(i, op)
	}
}

// around cuts a window around a violation: its orders, and a few sales of the units above and below those of its first
// order. There is no gap between these units, so no order outside the window can have sold one of them legally.
func (s *sales) around(violation []*history.Op, reach int) *question {
	q := &question{initial: notCounted, describe: unitsLeft}
	low, high := unitRange(violation[0])
	for _, op := range violation {
		q.operations = append(q.operations, saleOf(s.cell, op, s.times))
	}
	for range reach {
		if op := s.above[high]; op != nil {
			q.operations = append(q.operations, saleOf(s.cell, op, s.times))
			_, high = unitRange(op)
		}
		if op := s.below[low]; op != nil {
			q.operations = append(q.operations, saleOf(s.cell, op, s.times))
			low, _ = unitRange(op)
		}
	}
	s.addOthers(q, low-1)
	q.startWith(min(high, s.cell.Initial))
	return q.withEnds()
}

// whole asks about all sales, and the stock that was left at the end: for sales and stock that do not add up.
func (s *sales) whole() *question {
	q := &question{initial: notCounted, describe: unitsLeft}
	for i, op := range s.cell.All() {
		if op.Outcome == history.Sold {
			q.operations = append(q.operations, saleOf(s.cell, s.kept.keep(i, op), s.times))
		}
	}
	answered := q.operations
	for i, op := range s.cell.All() {
		if op.Outcome == history.Unknown {
			q.operations = append(q.operations, unknownSaleOf(s.cell, s.kept.keep(i, op), s.times.unanswered(op, answered)))
		}
	}
	q.startWith(s.cell.Initial)
	if left := s.cell.Left; left != nil {
		_, end := extent(q.operations)
		q.operations = append(q.operations, stockCount(*left, span{end + 1, end + 2}, "What was left at the end."))
	}
	return q.withEnds()
}

// addOthers adds orders of the same time: those of unknown outcome, and those that were refused if the stock came down
// so far.
func (s *sales) addOthers(q *question, left int64) {
	answered := q.operations
	from, to := extent(q.operations)
	unknown, refused := 0, 0
	for i, op := range s.cell.All() {
		if t := s.times.of(op); t.call > to || t.ret < from {
			continue
		}
		switch {
		case op.Outcome == history.Unknown && unknown < maxOthers:
			q.operations = append(q.operations, unknownSaleOf(s.cell, s.kept.keep(i, op), s.times.unanswered(op, answered)))
			unknown++
		case op.Outcome == history.Refused && refused < maxOthers && left < op.Quantity:
			q.operations = append(q.operations, refusalOf(s.cell, s.kept.keep(i, op), s.times))
			refused++
		}
	}
}

// startWith puts a count of the stock before all other operations.
func (q *question) startWith(n int64) {
	from, _ := extent(q.operations)
	before := span{from - 2, from - 1}
	q.operations = append(q.operations, stockCount(n, before, "The stock at the beginning of this window."))
}
