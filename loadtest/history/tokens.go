package history

import "slices"

// Tokens returns the fencing tokens of the cell's orders, each once, the lowest first.
func (c *Cell) Tokens() []int64 {
	var tokens []int64
	for i := range c.Ops {
		if l := c.Ops[i].Lease; l != nil && l.Fence != 0 {
			tokens = append(tokens, l.Fence)
		}
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// Ordinal returns the place of a fencing token among those of the cell, counted from 1. Texts have it in place of the
// token: a token from a clock would read as a time.
func (c *Cell) Ordinal(token int64) int {
	i, _ := slices.BinarySearch(c.Tokens(), token)
	return i + 1
}
