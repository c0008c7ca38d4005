package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Read reads a file that Write wrote, now or in the past, into memory. For anything else it returns ErrNotHistory, with
// the reason in one line.
func Read(path string) (*Run, error) { return Open(path, Memory()) }

// Open reads a file as Read does, but puts what does not fit in memory into the spool; close that when done.
func Open(path string, spool *Spool) (*Run, error) {
	path, err := Find(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &reader{spool: spool}
	if r.from, err = r.unpacked(f); err == nil {
		r.text = json.NewDecoder(r)
		err = r.read()
	}
	var disk *os.PathError
	switch {
	case err == nil:
		return r.run, nil
	case spool.Err() != nil:
		return nil, spool.Err()
	case errors.As(err, &disk):
		return nil, err
	}
	return nil, fmt.Errorf("%s is %w: %w", path, ErrNotHistory, r.explain(err))
}

const (
	// maxValue bounds the size of one order, or of another value of a file, in bytes. That of an answer is 4 MB at most.
	maxValue = 16 << 20
	// maxHeads bounds the size of all that a file says besides its orders: it stays in memory. Each cell counts as
	// headSize at least.
	maxHeads = 64 << 20
	headSize = 1 << 10
)

// A reader reads a file value by value. A file may be compressed, so its size says nothing of what is in it.
type reader struct {
	spool *Spool
	from  io.Reader
	n     int64 // the bytes that were read from it
	heads int64 // the size of what stays in memory
	text  *json.Decoder
	run   *Run
	head  struct {
		format  string
		version int
	}
	said  counts // as the head says
	ended bool   // the last of the Lines was read
}

// Read reads the file's text for the decoder, which holds it from the beginning of a value on.
func (r *reader) Read(b []byte) (int, error) {
	if r.n-r.text.InputOffset() > maxValue {
		return 0, fmt.Errorf("it has a value of more than %d MB", maxValue>>20)
	}
	n, err := r.from.Read(b)
	r.n += int64(n)
	return n, err
}

// keep counts what is to stay in memory.
func (r *reader) keep(size int64) error {
	if r.heads += size; r.heads > maxHeads {
		return fmt.Errorf("it has more than %d MB besides its orders", maxHeads>>20)
	}
	return nil
}

// unpacked decompresses the file if it is compressed, which its first bytes tell, whatever its name.
func (r *reader) unpacked(f io.Reader) (io.Reader, error) {
	buf := bufio.NewReaderSize(f, 1<<20)
	if magic, _ := buf.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buf, nil
	}
	return gzip.NewReader(buf)
}

func (r *reader) read() error {
	if err := r.object(r.member); err != nil {
		return err
	}
	if err := r.known(); err != nil {
		return err
	}
	if r.head.version == Lines && r.run != nil {
		if err := r.lines(); err != nil {
			return err
		}
	}
	switch _, err := r.text.Token(); {
	case err == nil:
		return errors.New("something follows its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return r.check()
}

// member reads one member of the file's head, which in a Document holds everything.
func (r *reader) member(name string) error {
	switch name {
	case "format":
		return r.text.Decode(&r.head.format)
	case "version":
		return r.text.Decode(&r.head.version)
	case "cells":
		return r.text.Decode(&r.said.Cells)
	case "ops":
		return r.text.Decode(&r.said.Ops)
	case "run":
		if err := r.known(); err != nil { // another version may not fit our types
			return err
		}
		run := &Run{}
		present, err := r.split("cells", run, func() error {
			return r.list("cells", func() error { return r.cell(run) })
		})
		if present {
			r.run = run
		}
		return err
	}
	var unknown json.RawMessage
	return r.text.Decode(&unknown)
}

// known refuses a format or a version that cannot be read here.
func (r *reader) known() error {
	if r.head.format != Format {
		return fmt.Errorf("its format is %q, not %q", clip(r.head.format), Format)
	}
	if v := r.head.version; v != Document && v != Lines {
		return fmt.Errorf("it is version %d, this loadtest reads versions %d and %d", v, Document, Lines)
	}
	return nil
}

func clip(s string) string { return string([]rune(s)[:min(len([]rune(s)), 40)]) }

// cell reads a cell of a Document.
func (r *reader) cell(run *Run) error {
	c := &Cell{}
	c.Keep(r.spool)
	var h head
	present, err := r.split("ops", &h, func() error {
		return r.list("ops", func() error {
			var op Op
			if err := r.text.Decode(&op); err != nil {
				return err
			}
			return c.Add(&op)
		})
	})
	if err != nil {
		return err
	}
	if !present {
		return fmt.Errorf("cell %d is missing", len(run.Cells)+1)
	}
	if err := r.keep(headSize); err != nil {
		return err
	}
	run.Cells = append(run.Cells, c.with(&h))
	return nil
}

// with returns the cell with its head, and without a spool unless its ops are there.
func (c *Cell) with(h *head) *Cell {
	whole := Cell(*h)
	whole.Ops = c.Ops
	if c.onDisk() {
		whole.stored = c.stored
	}
	return &whole
}

// lines reads what follows the head in Lines.
func (r *reader) lines() error {
	var h *head
	c, left := &Cell{}, 0
	finish := func() error {
		if h == nil {
			return nil
		}
		if left > 0 {
			return fmt.Errorf("cell %d lacks %d orders", len(r.run.Cells)+1, left)
		}
		r.run.Cells = append(r.run.Cells, c.with(h))
		return nil
	}
	for !r.ended {
		var line struct {
			Cell *head   `json:"cell"`
			Ops  int     `json:"ops"`
			End  *counts `json:"end"`
			Op
		}
		before := r.text.InputOffset()
		if err := r.text.Decode(&line); err != nil {
			return err
		}
		switch {
		case line.Cell != nil:
			if err := errors.Join(finish(), r.keep(headSize+r.text.InputOffset()-before)); err != nil {
				return err
			}
			h, c, left = line.Cell, &Cell{}, line.Ops
			c.Keep(r.spool)
		case line.End != nil:
			if err := finish(); err != nil {
				return err
			}
			if r.ended = true; *line.End != r.said {
				return errors.New("its end and its head do not say the same")
			}
		case h == nil || left == 0:
			return fmt.Errorf("cell %d has more orders than its head says", len(r.run.Cells)+1)
		default:
			left--
			if err := c.Add(&line.Op); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) check() error {
	if r.run == nil || r.said.Cells == 0 {
		return errors.New("it holds no cells")
	}
	if n := len(r.run.Cells); n != r.said.Cells {
		return fmt.Errorf("it holds %d cells where its head says %d", n, r.said.Cells)
	}
	if n := r.run.ops(); n != r.said.Ops {
		return fmt.Errorf("it holds %d orders where its head says %d", n, r.said.Ops)
	}
	return nil
}

// object reads an object; member reads each of its members.
func (r *reader) object(member func(name string) error) error {
	if err := r.delim('{'); err != nil {
		return err
	}
	for r.text.More() {
		name, err := r.text.Token()
		if err != nil {
			return err
		}
		if err := member(name.(string)); err != nil { // the names of an object's members are strings
			return err
		}
	}
	return r.delim('}')
}

// split reads an object into a value, except for one member, which read reads. A null is not present.
func (r *reader) split(apart string, into any, read func() error) (present bool, err error) {
	first, err := r.text.Token()
	if err != nil || first == nil {
		return false, err
	}
	if first != json.Delim('{') {
		return false, fmt.Errorf("json: cannot unmarshal %v as an object", first)
	}
	rest := map[string]json.RawMessage{}
	for r.text.More() {
		name, err := r.text.Token()
		if err != nil {
			return false, err
		}
		if name == apart {
			err = read()
		} else {
			var value json.RawMessage
			err = errors.Join(r.text.Decode(&value), r.keep(int64(len(value))))
			rest[name.(string)] = value
		}
		if err != nil {
			return false, err
		}
	}
	if err := r.delim('}'); err != nil {
		return false, err
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(text, into)
}

// list reads an array; one reads each element. A null is an empty array.
func (r *reader) list(what string, one func() error) error {
	first, err := r.text.Token()
	if err != nil || first == nil {
		return err
	}
	if first != json.Delim('[') {
		return fmt.Errorf("json: cannot unmarshal %v as a list of %s", first, what)
	}
	for r.text.More() {
		if err := one(); err != nil {
			return err
		}
	}
	return r.delim(']')
}

func (r *reader) delim(want json.Delim) error {
	got, err := r.text.Token()
	if err == nil && got != want {
		err = fmt.Errorf("its JSON is not as expected: there is %v where %v should be", got, want)
	}
	return err
}

// explain says what is wrong with the file.
func (r *reader) explain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is cut short after %d bytes", r.offset())
	}
	if broken := syntaxOf(err); broken != nil || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return fmt.Errorf("it is not valid JSON: %w", err)
	}
	return err
}

// offset returns how far the text was read.
func (r *reader) offset() int64 {
	if r.text == nil {
		return 0
	}
	n := r.text.InputOffset()
	if rest, err := io.Copy(io.Discard, r.text.Buffered()); err == nil {
		n += rest
	}
	return n
}

func syntaxOf(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return err
	}
	return nil
}
