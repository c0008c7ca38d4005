package explain

import "stockapi/loadtest/history"

// picks are the orders of a cell that a window is made of. Each of them has one address, by which two can be told apart:
// a cell may hand out another copy each time, and may have far more orders than memory has room for.
type picks map[int]*history.Op

// keep returns order number i as it is kept.
func (p picks) keep(i int, op *history.Op) *history.Op {
	if p[i] == nil {
		kept := *op
		p[i] = &kept
	}
	return p[i]
}
