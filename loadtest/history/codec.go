package history

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// A block is a sequence of ops, in a form that is many times as fast to read and write as JSON, and a fifth of its
// size. It is in a temporary file that no other program reads, so it has no version. Texts that repeat are written once
// per block, and moments as distances from when the order was sent.

// An encoder writes a block.
type encoder struct {
	buf   []byte
	count int
	// known maps the texts that the block has to their numbers.
	known map[string]uint64
}

// The flags of an op.
const (
	hasLease = 1 << iota
	isLost
	isNoticed
	isResolved
)

func (e *encoder) op(op *Op) {
	e.count++
	var flags byte
	if op.Resolved {
		flags |= isResolved
	}
	if l := op.Lease; l != nil {
		flags |= hasLease
		if l.Lost {
			flags |= isLost
		}
		if l.Noticed {
			flags |= isNoticed
		}
	}
	e.buf = append(e.buf, flags)
	e.raw(op.Order)
	e.text(string(op.Phase), op.Instance, string(op.Outcome), op.Detail, op.For, op.SoldBy)
	e.ints(int64(op.Sent), int64(op.Due-op.Sent), int64(op.Done-op.Sent), int64(op.Latency))
	e.ints(int64(op.Status), op.Quantity, op.Left, int64(len(op.Units)))
	e.ints(op.Units...)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(op.WaitedMS))
	if l := op.Lease; l != nil {
		e.raw(l.Token)
		e.ints(l.Fence, int64(l.AcquiredAt-op.Sent), int64(l.ReleasedAt-op.Sent))
	}
	e.ints(int64(len(op.Trace)))
	for i := range op.Trace {
		cmd := &op.Trace[i]
		e.text(cmd.Node, cmd.Cmd, cmd.Key, cmd.Reply, cmd.Err)
		e.ints(int64(cmd.At-op.Sent), int64(cmd.End-op.Sent))
	}
}

func (e *encoder) ints(all ...int64) {
	for _, n := range all {
		e.buf = binary.AppendVarint(e.buf, n)
	}
}

// raw writes a text that is unlikely to repeat.
func (e *encoder) raw(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// text writes texts that may repeat: the number of each, or 0 and the text itself if it is new to the block.
func (e *encoder) text(all ...string) {
	for _, s := range all {
		if n, known := e.known[s]; known {
			e.buf = binary.AppendUvarint(e.buf, n)
			continue
		}
		if e.known == nil {
			e.known = map[string]uint64{}
		}
		e.known[s] = uint64(len(e.known) + 1)
		e.buf = append(e.buf, 0)
		e.raw(s)
	}
}

// take returns the block, and starts the next one in the same buffer.
func (e *encoder) take() (block []byte, count int) {
	block, count = e.buf, e.count
	e.buf, e.count = e.buf[:0], 0
	clear(e.known)
	return block, count
}

var errBlock = errors.New("the stored orders are corrupt")

// A decoder reads a block.
type decoder struct {
	buf   []byte
	known []string
	err   error
}

func decodeBlock(block []byte, count int) ([]Op, error) {
	d := decoder{buf: block}
	ops := make([]Op, count)
	for i := range ops {
		if d.op(&ops[i]); d.err != nil {
			return nil, d.err
		}
	}
	if len(d.buf) > 0 {
		return nil, errBlock
	}
	return ops, nil
}

func (d *decoder) op(op *Op) {
	flags := d.bytes(1)
	if d.err != nil {
		return
	}
	op.Resolved = flags[0]&isResolved != 0
	op.Order = string(d.raw())
	op.Phase, op.Instance, op.Outcome = Phase(d.text()), d.text(), Outcome(d.text())
	op.Detail, op.For, op.SoldBy = d.text(), d.text(), d.text()
	op.Sent = Instant(d.int())
	op.Due, op.Done, op.Latency = d.instant(op), d.instant(op), time.Duration(d.int())
	op.Status, op.Quantity, op.Left = int(d.int()), d.int(), d.int()
	if n := d.length(); n > 0 {
		op.Units = make([]int64, n)
		for i := range op.Units {
			op.Units[i] = d.int()
		}
	}
	if b := d.bytes(8); d.err == nil {
		op.WaitedMS = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	if flags[0]&hasLease != 0 {
		op.Lease = &Lease{Token: string(d.raw()), Fence: d.int(), AcquiredAt: d.instant(op), ReleasedAt: d.instant(op)}
		op.Lease.Lost, op.Lease.Noticed = flags[0]&isLost != 0, flags[0]&isNoticed != 0
	}
	if n := d.length(); n > 0 {
		op.Trace = make([]Command, n)
		for i := range op.Trace {
			op.Trace[i] = Command{
				Node: d.text(), Cmd: d.text(), Key: d.text(), Reply: d.text(), Err: d.text(), At: d.instant(op), End: d.instant(op),
			}
		}
	}
}

// bytes returns the next n bytes, or nil and an error if there are fewer.
func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.buf) {
		d.err, d.buf = errBlock, nil
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.buf)
	d.bytes(sizeOf(size))
	return n
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.buf)
	d.bytes(sizeOf(size))
	return n
}

// sizeOf turns a size of 0, which means an error, into one that bytes refuses.
func sizeOf(size int) int {
	if size == 0 {
		return -1
	}
	return size
}

// length reads the number of elements that follow; each takes at least one byte.
func (d *decoder) length() int {
	n := d.int()
	if n < 0 || n > int64(len(d.buf)) {
		d.bytes(-1)
		return 0
	}
	return int(n)
}

func (d *decoder) instant(op *Op) Instant { return op.Sent + Instant(d.int()) }

func (d *decoder) raw() []byte { return d.bytes(int(min(d.uint(), math.MaxInt32))) }

func (d *decoder) text() string {
	n := d.uint()
	switch {
	case n == 0:
		d.known = append(d.known, string(d.raw()))
		return d.known[len(d.known)-1]
	case n > uint64(len(d.known)):
		d.bytes(-1)
		return ""
	}
	return d.known[n-1]
}
