package client

import (
	"errors"
	"os"
	"time"
)

// silent reports whether an idle connection is still open and nothing has come on it. It has to wait a moment for that,
// and so takes for granted that a connection is open that was used just now.
func (c *conn) silent() bool {
	if time.Since(c.idleSince) < 100*time.Millisecond {
		return true
	}
	_ = c.tcp.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.tcp.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}
