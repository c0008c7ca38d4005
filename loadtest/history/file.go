package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Format and Version stand at the head of every file. A change to the meaning of a field is a new version.
const (
	Format  = "stockapi-history"
	Version = 1
)

// ErrNotHistory is wrapped by every error of Read that the file's content is to blame for.
var ErrNotHistory = errors.New("not a usable history")

// file is the envelope. The counts are written first, so that a file that lost cells or ops on its way, but is
// still JSON, is noticed.
type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Cells   int    `json:"cells"`
	Ops     int    `json:"ops"`
	Run     *Run   `json:"run"`
}

// Write writes the run to path, whole or not at all.
func Write(path string, run *Run) error {
	return WriteFile(path, func(w io.Writer) error {
		f := file{Format: Format, Version: Version, Cells: len(run.Cells), Ops: run.ops(), Run: run}
		return json.NewEncoder(w).Encode(f)
	})
}

func (r *Run) ops() int {
	n := 0
	for _, c := range r.Cells {
		n += c.Len()
	}
	return n
}

// WriteFile calls write on a temporary file beside path and renames it to path, so that nobody ever reads half
// of it, and a full disk leaves the old content alone.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return writeThrough(path, write)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".loadtest-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	buf := bufio.NewWriterSize(tmp, 1<<20)
	if err = write(buf); err != nil {
		return err
	}
	if err = errors.Join(buf.Flush(), tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// writeThrough is for what cannot be renamed over, such as /dev/stdout.
func writeThrough(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(buf), buf.Flush(), f.Close())
}

// Read reads a file that Write wrote. Anything else is refused with ErrNotHistory and the reason in one line.
func Read(path string) (*Run, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	run, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s is %w: %w", path, ErrNotHistory, err)
	}
	return run, nil
}

func decode(b []byte) (*Run, error) {
	// The head is read alone first: a newer version may not fit our types, and should still be named.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, explain(b, err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("its format is %q, not %q", head.Format, Format)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("it is version %d, this loadtest reads version %d", head.Version, Version)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	return f.Run, f.check()
}

func explain(b []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(b)) {
		return fmt.Errorf("it is cut short after %d bytes", len(b))
	}
	return fmt.Errorf("it is no JSON of ours: %w", err)
}

func (f *file) check() error {
	if f.Run == nil || f.Cells == 0 {
		return errors.New("it holds no cells")
	}
	for i, c := range f.Run.Cells {
		if c == nil {
			return fmt.Errorf("cell %d is missing", i+1)
		}
	}
	if n := len(f.Run.Cells); n != f.Cells {
		return fmt.Errorf("it holds %d cells where its head says %d", n, f.Cells)
	}
	if n := f.Run.ops(); n != f.Ops {
		return fmt.Errorf("it holds %d orders where its head says %d", n, f.Ops)
	}
	return nil
}
