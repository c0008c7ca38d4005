package replay

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A request is a message of a client to a server: one command, a pipeline, or a transaction.
type request struct {
	raw  []byte
	cmds [][]string
}

// errNoRequest ends a connection whose client does not speak the protocol of Redis.
var errNoRequest = errors.New("this is no request to Redis")

// parseRequest reads all commands in b. It returns false if b is not whole yet: the end of a command is missing, or the
// end of a transaction.
func parseRequest(b []byte) (r request, whole bool, err error) {
	r.raw = b
	for rest := b; len(rest) > 0; {
		cmd, size, err := parseCommand(rest)
		if err != nil || size == 0 {
			return r, false, err
		}
		r.cmds, rest = append(r.cmds, cmd), rest[size:]
	}
	if len(r.cmds) == 0 {
		return r, false, nil
	}
	last := r.verb(len(r.cmds) - 1)
	return r, r.verb(0) != "multi" || last == "exec" || last == "discard", nil
}

// parseCommand returns the arguments of the first command, and its size in bytes, which is 0 if it is not whole yet.
func parseCommand(b []byte) (args []string, size int, err error) {
	n, rest, whole, err := parseCount(b, '*')
	if err != nil || !whole {
		return nil, 0, err
	}
	for range n {
		var length int
		length, rest, whole, err = parseCount(rest, '$')
		if err != nil || !whole || len(rest) < length+2 {
			return nil, 0, err
		}
		args, rest = append(args, string(rest[:length])), rest[length+2:]
	}
	return args, len(b) - len(rest), nil
}

func parseCount(b []byte, kind byte) (n int, rest []byte, whole bool, err error) {
	if len(b) > 0 && b[0] != kind {
		return 0, nil, false, errNoRequest
	}
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return 0, nil, false, nil
	}
	n, err = strconv.Atoi(string(b[1:end]))
	if err != nil || n < 0 {
		return 0, nil, false, errNoRequest
	}
	return n, b[end+2:], true, nil
}

// verb returns the name of command i, in lower case.
func (r request) verb(i int) string {
	if len(r.cmds[i]) == 0 {
		return ""
	}
	return strings.ToLower(r.cmds[i][0])
}

// setup are commands that concern their connection alone.
var setup = []string{"hello", "auth", "select", "client", "unwatch", "ping", "quit", "reset"}

// isSetup reports whether the request concerns its connection alone.
func (r request) isSetup() bool {
	for i := range r.cmds {
		if !slices.Contains(setup, r.verb(i)) {
			return false
		}
	}
	return true
}

func (r request) subscribes() bool {
	return slices.Contains([]string{"subscribe", "psubscribe", "ssubscribe"}, r.verb(0))
}

// describe returns the name of the request's first command. A script has its name, "eval:release", and a transaction is
// called by what it does: exec.
func (r request) describe(scripts map[string]string) string {
	switch name := r.verb(0); name {
	case "multi":
		return "exec"
	case "eval", "evalsha":
		if script := scripts[r.digest()]; script != "" {
			return "eval:" + script
		}
		return "eval"
	default:
		return name
	}
}

// digest returns the digest of the script that the request runs, or "".
func (r request) digest() string {
	switch {
	case len(r.cmds[0]) < 2:
		return ""
	case r.verb(0) == "evalsha":
		return r.cmds[0][1]
	case r.verb(0) == "eval":
		sum := sha1.Sum([]byte(r.cmds[0][1]))
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// readReply reads one reply, of RESP2 or RESP3, and appends it to raw as it came.
func readReply(from *bufio.Reader, raw []byte) ([]byte, error) {
	line, err := from.ReadBytes('\n')
	raw = append(raw, line...)
	if err != nil {
		return raw, err
	}
	if len(line) < 3 {
		return raw, fmt.Errorf("this is no reply of Redis: %q", line)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	switch line[0] {
	case '$', '!', '=':
		if n < 0 {
			return raw, nil
		}
		text := make([]byte, n+2)
		_, err = io.ReadFull(from, text)
		return append(raw, text...), err
	case '%', '|':
		n *= 2
	case '*', '~', '>':
	default:
		return raw, nil
	}
	for range n {
		if raw, err = readReply(from, raw); err != nil {
			return raw, err
		}
	}
	return raw, nil
}

// isMessage reports whether a reply is a message that was published.
func isMessage(reply []byte) bool {
	for _, start := range []string{"*3\r\n$7\r\nmessage\r\n", ">3\r\n$7\r\nmessage\r\n", "*3\r\n$8\r\nsmessage\r\n"} {
		if bytes.HasPrefix(reply, []byte(start)) {
			return true
		}
	}
	return false
}

// isUnknownScript reports whether a server answers that it does not know a script. The client then sends it whole.
func isUnknownScript(reply []byte) bool { return bytes.HasPrefix(reply, []byte("-NOSCRIPT")) }
