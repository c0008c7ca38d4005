package history

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
)

const (
	// inMemory is the number of ops that stay in memory, and inMemoryBytes their size. Both are enough for a usual run.
	// The others go to disk.
	inMemory      = 20_000
	inMemoryBytes = 64 << 20
	// blockSize is the approximate size of a block.
	blockSize = 64 << 10
)

// A Spool keeps the ops of a run's cells: a few in memory, more in a temporary file. The file has no name, so nothing
// of it is left when the process ends, however it ends. It is created when it is first needed.
type Spool struct {
	dir  string
	open func(dir string) (*os.File, error)

	mu    sync.Mutex
	room  int
	bytes int64 // the same, by size
	file  *os.File
	end   int64
	err   error
}

// NewSpool returns a spool that creates its file, if it needs one, in dir. It has to be closed.
func NewSpool(dir string) *Spool {
	return &Spool{dir: dir, open: openTemporary, room: inMemory, bytes: inMemoryBytes}
}

// Memory returns a spool that keeps all ops in memory.
func Memory() *Spool { return &Spool{room: math.MaxInt, bytes: math.MaxInt64} }

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

// reserve reserves memory for one more op of that size, if there is room.
func (s *Spool) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room == 0 || s.bytes < size {
		return false
	}
	s.room--
	s.bytes -= size
	return true
}

func (s *Spool) free(n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room += n
	s.bytes += bytes
}

// write appends a block and returns its offset.
func (s *Spool) write(b []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the orders cannot be kept in %s: make room there: %w", s.dir, err)
			s.err = err
		}
	}()
	if s.file == nil {
		if s.file, err = s.open(s.dir); err != nil {
			return 0, err
		}
	}
	at = s.end
	if _, err := s.file.WriteAt(b, at); err != nil {
		return 0, err
	}
	s.end += int64(len(b))
	return at, nil
}

// read reads a block. Err returns its error too.
func (s *Spool) read(b []byte, at int64, count int) ([]Op, error) {
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	if file == nil {
		return nil, s.fail(os.ErrClosed)
	}
	if _, err := file.ReadAt(b, at); err != nil {
		return nil, s.fail(err)
	}
	ops, err := decodeBlock(b, count)
	if err != nil {
		return nil, s.fail(err)
	}
	return ops, nil
}

func (s *Spool) fail(err error) error {
	err = fmt.Errorf("the orders kept in %s cannot be read again: %w", s.dir, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}

// A block is the place of some ops in the spool's file: those from number first on.
type block struct {
	at    int64
	size  int
	first int
}

// stored holds the ops of one cell in a spool.
type stored struct {
	spool *Spool

	mu       sync.Mutex
	onDisk   bool  // if not, they are the cell's Ops
	reserved int64 // the memory of those, in bytes
	blocks   []block
	last     encoder // the ops that are not written yet
	n        int
	// changed are ops that replace others, by number.
	changed map[int]Op

	ops   []Op // the block that was read last, from number first on
	first int
	sums  *sums
}

// Keep makes the cell store the ops that are added from now on in a spool; nil means in memory.
func (c *Cell) Keep(s *Spool) {
	if s == nil {
		s = Memory()
	}
	c.stored = &stored{spool: s}
}

// Add adds an op. Several goroutines may add ops if the cell has a spool; the order of their calls is the order of the
// ops.
func (c *Cell) Add(op *Op) error {
	if c.stored == nil {
		c.Ops = append(c.Ops, *op)
		return nil
	}
	s := c.stored
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums = nil
	if !s.onDisk {
		if size := op.size(); s.spool.reserve(size) {
			s.reserved += size
			c.Ops = append(c.Ops, *op)
			return nil
		}
		if err := s.move(c); err != nil {
			return err
		}
	}
	return s.add(op)
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

func (c *Cell) onDisk() bool { return c.stored != nil && c.stored.onDisk }

// move moves the cell's ops to disk.
func (s *stored) move(c *Cell) error {
	s.onDisk = true
	for i := range c.Ops {
		if err := s.add(&c.Ops[i]); err != nil {
			return err
		}
	}
	s.spool.free(len(c.Ops), s.reserved)
	c.Ops = nil
	return nil
}

func (s *stored) add(op *Op) error {
	s.last.op(op)
	s.n++
	if len(s.last.buf) < blockSize {
		return nil
	}
	first := s.n - s.last.count
	b, _ := s.last.take()
	at, err := s.spool.write(b)
	if err != nil {
		return err
	}
	s.blocks = append(s.blocks, block{at: at, size: len(b), first: first})
	return nil
}

// all yields the ops, a block at a time. It ends early if a block cannot be read; see [Spool.Err].
func (s *stored) all(yield func(int, *Op) bool) {
	buf := make([]byte, 0, blockSize+blockSize/4)
	for n := range len(s.blocks) + 1 {
		ops, first, err := s.decode(n, buf)
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

// decode reads block number n, of which the last is still in memory.
func (s *stored) decode(n int, buf []byte) (ops []Op, first int, err error) {
	if n == len(s.blocks) {
		first = s.n - s.last.count
		ops, err = decodeBlock(s.last.buf, s.last.count)
	} else {
		b, next := s.blocks[n], s.n-s.last.count
		if n+1 < len(s.blocks) {
			next = s.blocks[n+1].first
		}
		first = b.first
		ops, err = s.spool.read(slices.Grow(buf, b.size)[:b.size], b.at, next-first)
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

// at returns op number i. It keeps the block, as the next op asked for is often a neighbour.
func (s *stored) at(i int) *Op {
	s.mu.Lock()
	ops, first := s.ops, s.first
	s.mu.Unlock()
	if i < first || i >= first+len(ops) {
		n, found := slices.BinarySearchFunc(s.blocks, i, func(b block, i int) int { return b.first - i })
		if !found {
			n-- // the block that begins before it
		}
		if i >= s.n-s.last.count {
			n = len(s.blocks)
		}
		var err error
		if ops, first, err = s.decode(n, nil); err != nil {
			return &Op{}
		}
		s.mu.Lock()
		s.ops, s.first = ops, first
		s.mu.Unlock()
	}
	op := ops[i-first]
	return &op
}
