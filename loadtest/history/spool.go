package history

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"os"
	"slices"
	"sync"
)

const (
	// inMemory is the size of the ops that stay in memory, in bytes: nearly all of a usual run. The others go to disk.
	inMemory = 16 << 20
	// blockSize is the size of the ops that are written together, in bytes of memory.
	blockSize = 64 << 10
)

// A Spool keeps the ops of a run's cells: a few in memory, more in a temporary file. The file has no name, so nothing
// of it is left when the process ends, however it ends. It is created when it is first needed.
type Spool struct {
	dir  string
	open func(dir string) (*os.File, error)

	mu   sync.Mutex
	room int64
	file *os.File
	end  int64
	err  error
}

// NewSpool returns a spool that creates its file, if it needs one, in dir. It has to be closed.
func NewSpool(dir string) *Spool { return &Spool{dir: dir, open: openTemporary, room: inMemory} }

// Close closes the file. Its ops can no longer be read.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// Err returns why ops could not be stored or read again, if so. Conclusions from them then rest on less than there was.
func (s *Spool) Err() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// reserve reserves so much memory, if there is room; a negative size gives it back. Without a spool there always is.
func (s *Spool) reserve(size int64) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room < size {
		return false
	}
	s.room -= size
	return true
}

// write appends ops to the file and returns their place.
func (s *Spool) write(ops []Op) (b block, err error) {
	var text bytes.Buffer
	err = gob.NewEncoder(&text).Encode(ops)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.file == nil && err == nil {
		s.file, err = s.open(s.dir)
	}
	if s.err == nil && err == nil {
		_, err = s.file.WriteAt(text.Bytes(), s.end)
	}
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("the orders cannot be kept in %s: make room there: %w", s.dir, err)
	}
	b = block{at: s.end, size: text.Len()}
	s.end += int64(b.size)
	return b, s.err
}

// read reads a block. Err returns its error too.
func (s *Spool) read(b block) (ops []Op, err error) {
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	text := make([]byte, b.size)
	if file == nil {
		err = os.ErrClosed
	} else if _, err = file.ReadAt(text, b.at); err == nil {
		err = gob.NewDecoder(bytes.NewReader(text)).Decode(&ops)
	}
	if err == nil {
		return ops, nil
	}
	err = fmt.Errorf("the orders kept in %s cannot be read again: %w", s.dir, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return nil, err
}

// A block is the place of some ops in the spool's file: those from number first on.
type block struct {
	at    int64
	size  int
	first int
}

// stored is what a cell knows of its ops in a spool. Those after the last block are the cell's Ops.
type stored struct {
	spool *Spool

	mu       sync.Mutex
	size     int64 // of the cell's Ops, in bytes of memory
	reserved int64 // of it
	blocks   []block
	written  int // the number of ops in blocks
	// changed are ops that replace others, by number.
	changed map[int]Op

	ops   []Op // the block that was read last, from number first on
	first int
	sums  *sums
}

// Keep makes the cell store the ops that are added from now on in a spool; nil means in memory.
func (c *Cell) Keep(s *Spool) { c.stored = &stored{spool: s} }

// Add adds an op. Several goroutines may add ops if Keep was called; the order of their calls is the order of the ops.
func (c *Cell) Add(op *Op) error {
	s := c.stored
	if s == nil {
		c.Ops = append(c.Ops, *op)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums = nil
	size := op.size()
	c.Ops = append(c.Ops, *op)
	s.size += size
	if len(s.blocks) == 0 && s.spool.reserve(size) {
		s.reserved += size
		return nil
	}
	if s.size < blockSize {
		return nil
	}
	return s.move(c)
}

// move moves the cell's Ops to disk.
func (s *stored) move(c *Cell) error {
	ops := c.Ops
	for len(ops) > 0 {
		n, size := 0, int64(0)
		for ; n < len(ops) && size < blockSize; n++ {
			size += ops[n].size()
		}
		b, err := s.spool.write(ops[:n])
		if err != nil {
			return err
		}
		b.first = s.written
		s.blocks = append(s.blocks, b)
		s.written += n
		ops = ops[n:]
	}
	s.spool.reserve(-s.reserved)
	c.Ops, s.size, s.reserved = nil, 0, 0
	return nil
}

// Set replaces op number i. It is meant for a few ops.
func (c *Cell) Set(i int, op *Op) {
	if !c.onDisk() {
		c.Ops[i] = *op
		return
	}
	s := c.stored
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[int]Op{}
	}
	s.changed[i] = *op
	s.ops, s.sums = nil, nil
}

func (c *Cell) onDisk() bool { return c.stored != nil && len(c.stored.blocks) > 0 }

// block reads block number n; after the last one come the cell's Ops.
func (c *Cell) block(n int) (ops []Op, first int, err error) {
	s := c.stored
	if n == len(s.blocks) {
		ops, first = slices.Clone(c.Ops), s.written
	} else {
		first = s.blocks[n].first
		ops, err = s.spool.read(s.blocks[n])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, op := range s.changed {
		if i >= first && i < first+len(ops) {
			ops[i-first] = op
		}
	}
	return ops, first, err
}

// blockwise yields the ops, a block at a time. It ends early if a block cannot be read; see [Spool.Err].
func (c *Cell) blockwise(yield func(int, *Op) bool) {
	for n := range len(c.stored.blocks) + 1 {
		ops, first, err := c.block(n)
		if err != nil {
			return
		}
		for i := range ops {
			if !yield(first+i, &ops[i]) {
				return
			}
		}
	}
}

// fromBlock returns op number i. It keeps the block, as the next op asked for is often a neighbour.
func (c *Cell) fromBlock(i int) *Op {
	s := c.stored
	s.mu.Lock()
	ops, first := s.ops, s.first
	s.mu.Unlock()
	if i < first || i >= first+len(ops) {
		n, found := slices.BinarySearchFunc(s.blocks, i, func(b block, i int) int { return b.first - i })
		switch {
		case i >= s.written:
			n = len(s.blocks)
		case !found:
			n-- // the block that begins before it
		}
		var err error
		if ops, first, err = c.block(n); err != nil {
			return &Op{}
		}
		s.mu.Lock()
		s.ops, s.first = ops, first
		s.mu.Unlock()
	}
	op := ops[i-first]
	return &op
}
