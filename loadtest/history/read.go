package history

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Results is the name of the file of a run in a directory.
const Results = "results.jsonl.gz"

// Open returns the run in a file that Write wrote, compressed or not, or in a directory with one. All texts are plain:
// see [MakePlain]. For any other file it returns ErrNotHistory, with the reason in one line.
func Open(path string) (*Run, error) {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		path = filepath.Join(path, Results)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &reader{}
	err = r.read(f)
	var disk *os.PathError
	switch {
	case err == nil:
		return r.run, nil
	case errors.As(err, &disk):
		return nil, err
	}
	return nil, fmt.Errorf("%s is %w: %w", path, ErrNotHistory, r.explain(err))
}

const (
	// maxLine bounds the size of a line of a file, in bytes. An answer has 4 MB at most.
	maxLine = 16 << 20
	// maxHeads bounds the size of all lines except orders. Each counts as headSize and its length.
	maxHeads = 64 << 20
	headSize = 1 << 10
)

// A reader reads a file line by line. The size of a compressed file does not bound its content.
type reader struct {
	lines *bufio.Scanner
	n     int64 // the bytes of the lines that were read
	heads int64 // the size of the lines except orders
	run   *Run
	said  counts // by the first line
}

func (r *reader) read(f io.Reader) error {
	text, err := unpack(f)
	if err != nil {
		return err
	}
	r.lines = bufio.NewScanner(text)
	r.lines.Buffer(make([]byte, 64<<10), maxLine)
	r.lines.Split(wholeLines)
	if err := r.head(); err != nil {
		return err
	}
	if err := r.cells(); err != nil {
		return err
	}
	switch err := r.next(); {
	case err == nil:
		return errors.New("there is data after its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return r.check()
}

// unpack decompresses the file if its first bytes are those of gzip, whatever its name.
func unpack(f io.Reader) (io.Reader, error) {
	buf := bufio.NewReaderSize(f, 1<<20)
	if magic, _ := buf.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buf, nil
	}
	return gzip.NewReader(buf)
}

// wholeLines splits a text into lines, each of which must have its newline.
func wholeLines(text []byte, atEOF bool) (n int, line []byte, err error) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1, text[:i], nil
	}
	if atEOF && len(text) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return 0, nil, err
}

// next advances to the next line. After the last one it returns io.EOF.
func (r *reader) next() error {
	if r.lines.Scan() {
		r.n += int64(len(r.lines.Bytes())) + 1
		return nil
	}
	if err := r.lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

// decode reads the next line into the value that v points to, with plain texts.
func (r *reader) decode(v any) error {
	if err := r.next(); err != nil {
		return err
	}
	err := ReadJSON(r.lines.Bytes(), v)
	MakePlain(v)
	return err
}

// countHead counts the line as one that is no order.
func (r *reader) countHead() error {
	if r.heads += headSize + int64(len(r.lines.Bytes())); r.heads > maxHeads {
		return fmt.Errorf("it has more than %d MB besides its orders", maxHeads>>20)
	}
	return nil
}

// errOlder is the error of a file of an older version.
var errOlder = errors.New("an older loadtest wrote it, in a format that is no longer supported: repeat the run")

// head reads the first line, format and version first: the rest of another version may not fit our types.
func (r *reader) head() error {
	if err := r.next(); err != nil {
		return err
	}
	if bytes.HasPrefix(r.lines.Bytes(), []byte(`{"format":"`+Format+`","version":1,`)) { // the line is no complete value
		return errOlder
	}
	var first lineOfHead
	var start struct {
		Format  string
		Version int
	}
	if err := ReadJSON(r.lines.Bytes(), &start); err != nil {
		return err
	}
	switch {
	case start.Format != Format:
		return fmt.Errorf("its format is %.40q, not %q", start.Format, Format)
	case start.Version < Version:
		return errOlder
	case start.Version != Version:
		return fmt.Errorf("it is version %d, this loadtest reads version %d", start.Version, Version)
	}
	if err := cmp.Or(ReadJSON(r.lines.Bytes(), &first), r.countHead()); err != nil {
		return err
	}
	r.run, r.said = first.Run, first.counts
	if r.run == nil {
		r.run = &Run{}
	}
	MakePlain(r.run)
	return nil
}

// cells reads the lines after the first: each cell's head and its orders, and the end.
func (r *reader) cells() error {
	left := 0
	for {
		var line struct {
			Cell *Cell   `json:"cell"`
			Ops  int     `json:"ops"`
			End  *counts `json:"end"`
			Op
		}
		if err := r.decode(&line); err != nil {
			return err
		}
		if line.Cell == nil && line.End == nil {
			if left <= 0 {
				return fmt.Errorf("cell %d has more orders than its head declares", len(r.run.Cells))
			}
			left--
			c := r.run.Cells[len(r.run.Cells)-1]
			if err := line.CheckUnits(c.Initial); err != nil {
				return err
			}
			c.Ops = append(c.Ops, line.Op)
			continue
		}
		if left > 0 {
			return fmt.Errorf("cell %d lacks %d orders", len(r.run.Cells), left)
		}
		if line.End != nil {
			if *line.End != r.said {
				return errors.New("its end and its head disagree")
			}
			return nil
		}
		if err := r.countHead(); err != nil {
			return err
		}
		r.run.Cells, left = append(r.run.Cells, line.Cell), line.Ops
	}
}

func (r *reader) check() error {
	if r.said.Cells == 0 {
		return errors.New("it holds no cells")
	}
	if n := len(r.run.Cells); n != r.said.Cells {
		return fmt.Errorf("it holds %d cells, but its head declares %d", n, r.said.Cells)
	}
	if n := r.run.ops(); n != r.said.Ops {
		return fmt.Errorf("it holds %d orders, but its head declares %d", n, r.said.Ops)
	}
	return nil
}

// explain returns an error that describes the defect of the file.
func (r *reader) explain(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is cut short after %d bytes", r.n)
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("it has a line of more than %d MB", maxLine>>20)
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("its compressed data are damaged after %d bytes: copy it again", r.n)
	}
	return err
}
