package explain

import "stockapi/loadtest/history"

const (
	// maxAside is how many refused orders, and how many of unknown outcome, are shown beside the sales. With some tens of
	// the latter Porcupine comes to no end.
	maxAside = 6
	// maxActs is the most that Porcupine is asked about.
	maxActs = 2000
)

// sales is what was sold in a cell around a violation, ready to be cut into windows.
type sales struct {
	cell  *history.Cell
	times times
	kept  picks
	// above maps a unit to the sale whose units begin above it, below to the one whose units end below it. Of several, it
	// is the one that was over first: on it the others' were built.
	above, below map[int64]*history.Op
}

// maxQuantity is the most that one order buys, as far as a window reaches from sale to sale.
const maxQuantity = 1000

// salesAround finds the sales of units so near to the first one's of a violation that the widest window may reach them.
func salesAround(c *history.Cell, t times, kept picks, violation []*history.Op) *sales {
	s := &sales{cell: c, times: t, kept: kept, above: map[int64]*history.Op{}, below: map[int64]*history.Op{}}
	low, high := ends(violation[0])
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
		if low, high := ends(op); op.Outcome == history.Sold && near(low) && near(high) {
			s.file(s.above, low-1, i, op)
			s.file(s.below, high+1, i, op)
		}
	}
	return s
}

func (s *sales) file(by map[int64]*history.Op, unit int64, i int, op *history.Op) {
	if by[unit] == nil || s.times.of(op).ret < s.times.of(by[unit]).ret {
		by[unit] = s.kept.keep(i, op)
	}
}

// around cuts a window around a violation: the orders that it consists of, and a few sales of the units above and below
// the first one's. Without a gap between them nobody else can have sold any of these units, rightly.
func (s *sales) around(violation []*history.Op, reach int) *question {
	q := &question{initial: uncounted, tell: unitsLeft}
	low, high := ends(violation[0])
	for _, op := range violation {
		q.acts = append(q.acts, sale(s.cell, op, s.times))
	}
	for range reach {
		if op := s.above[high]; op != nil {
			q.acts = append(q.acts, sale(s.cell, op, s.times))
			_, high = ends(op)
		}
		if op := s.below[low]; op != nil {
			q.acts = append(q.acts, sale(s.cell, op, s.times))
			low, _ = ends(op)
		}
	}
	s.aside(q, low-1)
	q.open(min(high, s.cell.Initial))
	return q.closed()
}

// whole is all that was sold, and what was left of it at the end: for books that do not balance.
func (s *sales) whole() *question {
	q := &question{initial: uncounted, tell: unitsLeft}
	for i, op := range s.cell.All() {
		if op.Outcome == history.Sold {
			q.acts = append(q.acts, sale(s.cell, s.kept.keep(i, op), s.times))
		}
	}
	answered := q.acts
	for i, op := range s.cell.All() {
		if op.Outcome == history.Unknown {
			q.acts = append(q.acts, perhaps(s.cell, s.kept.keep(i, op), s.times.unanswered(op, answered)))
		}
	}
	q.open(s.cell.Initial)
	if left := s.cell.Left; left != nil {
		_, end := extent(q.acts)
		q.acts = append(q.acts, count(*left, span{end + 1, end + 2}, "What was left at the end."))
	}
	return q.closed()
}

// aside adds the orders that were under way meanwhile and may, but need not, have changed the stock, and if the stock
// came down so far, those that were refused.
func (s *sales) aside(q *question, left int64) {
	answered := q.acts
	from, to := extent(q.acts)
	unknown, refused := 0, 0
	for i, op := range s.cell.All() {
		if t := s.times.of(op); t.call > to || t.ret < from {
			continue
		}
		switch {
		case op.Outcome == history.Unknown && unknown < maxAside:
			q.acts = append(q.acts, perhaps(s.cell, s.kept.keep(i, op), s.times.unanswered(op, answered)))
			unknown++
		case op.Outcome == history.Refused && refused < maxAside && left < op.Quantity:
			q.acts = append(q.acts, refusal(s.cell, s.kept.keep(i, op), s.times))
			refused++
		}
	}
}

// open puts a count of the stock before everything else.
func (q *question) open(n int64) {
	from, _ := extent(q.acts)
	q.acts = append(q.acts, count(n, span{from - 2, from - 1}, "What there was when this window begins."))
}
