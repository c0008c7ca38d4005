package history

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Write writes the run to path, completely or not at all: a large one as Lines, and any one compressed if path ends in
// ".gz".
func Write(path string, run *Run) error {
	version := Document
	if run.ops() >= Large {
		version = Lines
	}
	return WriteFile(path, func(w io.Writer) error {
		if !strings.HasSuffix(path, ".gz") {
			return encode(w, run, version)
		}
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(encode(z, run, version), z.Close())
	})
}

func (r *Run) ops() int {
	n := 0
	for _, c := range r.Cells {
		n += c.Len()
	}
	return n
}

// An envelope is the head of a file. The counts come first, so that a file that lost cells or ops, but is still JSON,
// is noticed.
type envelope struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Cells   int    `json:"cells"`
	Ops     int    `json:"ops"`
	Run     any    `json:"run"`
}

// A lineOfCell is the head of a cell in Lines, with the number of op lines that follow it.
type lineOfCell struct {
	Cell *head `json:"cell"`
	Ops  int   `json:"ops"`
}

// A lineOfEnd is the last line. A file without it was cut short.
type lineOfEnd struct {
	End counts `json:"end"`
}

type counts struct {
	Cells int `json:"cells"`
	Ops   int `json:"ops"`
}

// A writer writes JSON, and keeps the first error.
type writer struct {
	io.Writer
	err error
}

// json writes a value without its last bytes, as many as without says.
func (w *writer) json(v any, without int) {
	if w.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		w.err = err
		return
	}
	_, w.err = w.Write(b[:len(b)-without])
}

func (w *writer) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.Writer, s)
	}
}

func encode(to io.Writer, run *Run, version int) error {
	w := &writer{Writer: to}
	e := envelope{Format: Format, Version: version, Cells: len(run.Cells), Ops: run.ops()}
	if version == Lines {
		w.lines(e, run)
	} else {
		w.document(e, run)
	}
	if err := spoolOf(run).Err(); err != nil {
		return err // there were more
	}
	return w.err
}

// spoolOf returns the spool of the run's orders, nil if there is none.
func spoolOf(run *Run) *Spool {
	for _, c := range run.Cells {
		if c.onDisk() {
			return c.stored.spool
		}
	}
	return nil
}

// document writes one JSON document; cells and ops are inserted one by one.
func (w *writer) document(e envelope, run *Run) {
	whole := *run
	whole.Cells = []*Cell{}
	e.Run = whole
	w.json(e, len("]}}")) // cells come last
	for i, c := range run.Cells {
		w.text(separator(i, "\n"))
		w.json(c.head(), len("}"))
		for i, op := range c.All() {
			w.text(separator(i, `,"ops":[`+"\n"))
			w.json(op, 0)
		}
		if c.Len() > 0 {
			w.text("\n]")
		}
		w.text("}")
	}
	w.text("\n]}}\n")
}

func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ",\n"
}

func (w *writer) lines(e envelope, run *Run) {
	e.Run = struct {
		*Run
		Cells []*Cell `json:"cells,omitempty"` // in place of the run's
	}{Run: run}
	w.line(e)
	for _, c := range run.Cells {
		w.line(lineOfCell{c.head(), c.Len()})
		for _, op := range c.All() {
			w.line(op)
		}
	}
	w.line(lineOfEnd{counts{e.Cells, e.Ops}})
}

func (w *writer) line(v any) {
	w.json(v, 0)
	w.text("\n")
}

// head returns the cell without its ops.
func (c *Cell) head() *head {
	h := head(*c)
	h.Ops = nil
	return &h
}
