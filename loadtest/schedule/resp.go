package schedule

import (
	"bytes"
	"errors"
	"strconv"
)

// ErrNoRequest means that a client does not speak the Redis protocol.
var ErrNoRequest = errors.New("not a request to Redis")

// ParseCommand returns the arguments of the first command that a client has sent, and its size in bytes: 0 if it is
// incomplete.
func ParseCommand(b []byte) (args []string, size int, err error) {
	n, rest, err := parseCount(b, '*')
	if err != nil || rest == nil {
		return nil, 0, err
	}
	args = make([]string, 0, min(n, len(rest)))
	for range n {
		length, text, err := parseCount(rest, '$')
		if err != nil || len(text) < length+len(lineEnd) {
			return nil, 0, err
		}
		args, rest = append(args, string(text[:length])), text[length+len(lineEnd):]
	}
	return args, len(b) - len(rest), nil
}

var lineEnd = []byte("\r\n")

// parseCount parses a line such as *3 or $12. What follows it is nil if the line is incomplete.
func parseCount(b []byte, kind byte) (n int, rest []byte, err error) {
	if len(b) > 0 && b[0] != kind {
		return 0, nil, ErrNoRequest
	}
	line, rest, whole := bytes.Cut(b, lineEnd)
	if !whole {
		return 0, nil, nil
	}
	n, err = strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 {
		return 0, nil, ErrNoRequest
	}
	return n, rest, nil
}
