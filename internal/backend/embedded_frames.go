package backend

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// maxCommand bounds the size of a command in bytes. No command of a stockapi comes near it.
const maxCommand = 80 << 20

// maxHeader bounds a line such as *3 or $12, with its line end.
const maxHeader = 16

// A framedConn is a client's connection to miniredis that lets only whole, bounded commands through, each an array of
// bulk strings. Miniredis v2.40 panics at an empty array, and allocates whatever size a client announces.
type framedConn struct {
	net.Conn
	header []byte // the part of a line that has come
	args   int    // the arguments of the command that are still to come
	skip   int    // the bytes of an argument that are still to come, with their line end
	size   int64  // the rest of maxCommand
	err    error  // ends the connection
}

// Read returns the commands before a malformed line, and then an error, which it also sends to the client.
func (c *framedConn) Read(b []byte) (int, error) {
	if c.err == nil {
		n, err := c.Conn.Read(b)
		good := c.accept(b[:n])
		if good > 0 || c.err == nil {
			return good, err
		}
	}
	_, _ = fmt.Fprintf(c.Conn, "-ERR Protocol error: %v\r\n", c.err)
	return 0, c.err
}

// accept returns how many bytes of b are those of good commands, and sets err at the first that is not.
func (c *framedConn) accept(b []byte) (good int) {
	for good < len(b) {
		if c.skip > 0 {
			n := min(c.skip, len(b)-good)
			c.skip -= n
			good += n
			continue
		}
		c.header = append(c.header, b[good])
		if b[good] == '\n' || len(c.header) == maxHeader {
			if c.err = c.line(string(c.header)); c.err != nil {
				return good
			}
			c.header = c.header[:0]
		}
		good++
	}
	return good
}

// line takes the line that begins a command, or one of its arguments.
func (c *framedConn) line(text string) error {
	kind := byte('$')
	if c.args == 0 {
		kind, c.size = '*', maxCommand
	}
	n, err := strconv.ParseUint(text[1:max(1, len(text)-2)], 10, 31)
	switch {
	case text[0] != kind || !strings.HasSuffix(text, "\r\n") || err != nil:
		return errors.New("expected an array of bulk strings")
	case kind == '*' && n == 0:
		return errors.New("empty command")
	case kind == '*':
		c.args = int(n)
		n *= maxHeader
	default:
		c.args--
		c.skip = int(n) + len("\r\n")
	}
	if c.size -= int64(n); c.size < 0 {
		return fmt.Errorf("a command of more than %d bytes", maxCommand)
	}
	return nil
}
