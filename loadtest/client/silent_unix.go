//go:build unix

package client

import "syscall"

// silent reports whether an idle connection is still open and nothing has come on it, without waiting. What comes while
// nobody has asked is no answer.
func (c *conn) silent() bool {
	if c.raw == nil {
		return false
	}
	var err error
	_ = c.raw.Control(func(fd uintptr) {
		var one [1]byte
		_, err = syscall.Read(int(fd), one[:])
	})
	return err == syscall.EAGAIN
}
