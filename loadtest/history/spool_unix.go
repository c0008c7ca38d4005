//go:build !windows

package history

import "os"

// openTemporary opens a new file and removes its name.
func openTemporary(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".loadtest-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
