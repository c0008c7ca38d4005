package history

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
)

// Write writes the run to path, completely or not at all.
func Write(path string, run *Run) error {
	return WriteFile(path, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(encode(z, run), z.Close())
	})
}

func (r *Run) ops() int {
	n := 0
	for _, c := range r.Cells {
		n += len(c.Ops)
	}
	return n
}

// A lineOfHead is the first line of a file.
type lineOfHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	counts
	Run *Run `json:"run"`
}

// counts are in the first and the last line, to detect lost cells or ops.
type counts struct {
	Cells int `json:"cells"`
	Ops   int `json:"ops"`
}

// A lineOfCell is the head of a cell, with the number of ops in the lines after it.
type lineOfCell struct {
	Cell *Cell `json:"cell"`
	Ops  int   `json:"ops"`
}

// A lineOfEnd is the last line. A file without it is truncated.
type lineOfEnd struct {
	End counts `json:"end"`
}

func encode(to io.Writer, run *Run) error {
	text := json.NewEncoder(to)
	text.SetEscapeHTML(false)
	n := counts{len(run.Cells), run.ops()}
	err := text.Encode(lineOfHead{Format, Version, n, run})
	for _, c := range run.Cells {
		if err == nil {
			err = text.Encode(lineOfCell{c, len(c.Ops)})
		}
		for i := range c.Ops {
			if err == nil {
				err = text.Encode(&c.Ops[i])
			}
		}
	}
	if err != nil {
		return err
	}
	return text.Encode(lineOfEnd{n})
}
