package history

import "iter"

// All returns the ops of a cell one after the other. An op is valid until the next one is asked for; to keep it, copy
// it: a cell of a million orders does not fit in memory. A shallow copy of the Op is enough.
func (c *Cell) All() iter.Seq2[int, *Op] {
	if c.onDisk() {
		return c.blockwise
	}
	return func(yield func(int, *Op) bool) {
		for i := range c.Ops {
			if !yield(i, &c.Ops[i]) {
				return
			}
		}
	}
}

// At returns op number i, the number by which evidence refers to it. To change it, see [Cell.Set].
func (c *Cell) At(i int) *Op {
	if c.onDisk() {
		return c.fromBlock(i)
	}
	return &c.Ops[i]
}

// Len returns how many ops there are.
func (c *Cell) Len() int {
	if c.onDisk() {
		return c.stored.written + len(c.Ops)
	}
	return len(c.Ops)
}
