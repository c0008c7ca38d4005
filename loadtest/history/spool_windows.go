package history

import "os"

// deleteOnClose makes Windows remove a file when the process that opened it ends, however it ends.
const deleteOnClose = 0x04000000

// openTemporary opens a new file that is removed when it is closed.
func openTemporary(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".loadtest-*")
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return os.OpenFile(f.Name(), os.O_RDWR|deleteOnClose, 0o600)
}
