package porcupine

import "stockapi/loadtest/history"

// keptOrders are the orders of a cell that a window consists of, by their number in the cell. Each has one address, so
// that orders can be compared by address: a cell returns another copy each time, and may not fit into memory.
type keptOrders map[int]*history.Op

// keep returns the kept copy of order number i.
func (p keptOrders) keep(i int, op *history.Op) *history.Op {
	if p[i] == nil {
		kept := *op
		p[i] = &kept
	}
	return p[i]
}
