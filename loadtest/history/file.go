package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A file is JSON lines, so that it can be read in a stream: the head of the run, then each cell's head and its orders,
// and an end. It is compressed with gzip. The first line begins with Format and Version. A change to the meaning of a
// field needs a new version.
const (
	Format  = "stockapi-history"
	Version = 4
)

// ErrNotHistory is wrapped by every error of Open that is due to the file's content.
var ErrNotHistory = errors.New("not a usable history")

// WriteFile calls write on a temporary file beside path and renames it to path, so that no reader sees half of it, and
// a full disk leaves the old content alone.
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
