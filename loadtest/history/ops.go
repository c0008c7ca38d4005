package history

import (
	"encoding/json"
	"errors"
	"iter"
)

// All returns the ops of a cell one after the other. Each may be used until the next one is asked for, and what is kept
// of it has to be copied: a cell of a million orders does not lie in memory. Copying the Op is enough.
func (c *Cell) All() iter.Seq2[int, *Op] {
	if c.onDisk() {
		return c.stored.all
	}
	return func(yield func(int, *Op) bool) {
		for i := range c.Ops {
			if !yield(i, &c.Ops[i]) {
				return
			}
		}
	}
}

// At returns op number i, as evidence has to name it. To change it, see [Cell.Set].
func (c *Cell) At(i int) *Op {
	if c.onDisk() {
		return c.stored.at(i)
	}
	return &c.Ops[i]
}

// Len returns how many ops there are.
func (c *Cell) Len() int {
	if c.onDisk() {
		return c.stored.n
	}
	return len(c.Ops)
}

// MarshalJSON refuses a cell whose ops lie on disk: without them it would look whole.
func (c *Cell) MarshalJSON() ([]byte, error) {
	if c.onDisk() {
		return nil, errors.New("the orders of the cell lie on disk")
	}
	return json.Marshal((*head)(c))
}

// head is a cell as JSON has it, its Ops included.
type head Cell
