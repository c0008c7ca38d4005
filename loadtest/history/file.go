package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Every file begins with Format and a version. A change to the meaning of a field needs a new version.
//
// A Document is one JSON document, with one order per line, for jq and for people. Lines are JSON lines, which can be
// read one after the other however many there are: the head of the run, then of each cell its head and its orders, and
// an end.
const (
	Format   = "stockapi-history"
	Document = 1
	Lines    = 2
)

// Large is the number of orders from which on a run is written as Lines.
const Large = 100_000

// Packed is the size in bytes from which on a Document gets a name by which it is compressed: that of a whole run is.
const Packed = 8_000_000

// ErrNotHistory is wrapped by every error of Read that is due to the file's content.
var ErrNotHistory = errors.New("not a usable history")

// WriteFile calls write on a temporary file beside path and renames it to path. So no reader sees half of it, and a
// full disk leaves the old content alone.
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

// writeThrough is for files that cannot be replaced by a rename, such as /dev/stdout.
func writeThrough(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(buf), buf.Flush(), f.Close())
}
