package history

import "iter"

// All returns the ops of a cell one after the other. Each may be used until the next one is asked for, and what is kept
// of it has to be copied: a cell of a million orders does not lie in memory.
func (c *Cell) All() iter.Seq2[int, *Op] {
	return func(yield func(int, *Op) bool) {
		for i := range c.Ops {
			if !yield(i, &c.Ops[i]) {
				return
			}
		}
	}
}

// At returns op number i, as evidence has to name it.
func (c *Cell) At(i int) *Op { return &c.Ops[i] }

// Len returns how many ops there are.
func (c *Cell) Len() int { return len(c.Ops) }
