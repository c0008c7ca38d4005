package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Limits of one connection. Exceeding one closes it.
const (
	maxSize   = 64 << 20 // bytes of a command, of a transaction and of a reply
	maxValues = 1 << 20  // arguments of a command, and values in a reply
	maxDepth  = 64       // of values within values
	maxInline = 64 << 10 // bytes of a command without a length, as in Redis
)

var (
	errProtocol = errors.New("not the Redis protocol, or beyond the limits of a wire")
	errTooMuch  = fmt.Errorf("a wire takes commands and replies of up to %d MB: send smaller ones", maxSize>>20)
	errTLS      = errors.New("this port does not speak TLS: connect with redis:// instead of rediss://")
)

// A reader parses what a client or a server sends, and keeps the bytes.
type reader struct {
	*bufio.Reader
	raw    []byte // of the current command or reply
	values int    // in raw
}

func newReader(r io.Reader) *reader { return &reader{Reader: bufio.NewReader(r)} }

// line reads a line, and returns it without its end.
func (r *reader) line(most int) (string, error) {
	begin := len(r.raw)
	for {
		part, err := r.ReadSlice('\n')
		r.raw = append(r.raw, part...)
		switch {
		case len(r.raw)-begin > most || len(r.raw) > maxSize:
			return "", errProtocol
		case err == nil:
			return strings.TrimSuffix(string(r.raw[begin:len(r.raw)-1]), "\r"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// text reads size bytes and the line end after them.
func (r *reader) text(size int) (string, error) {
	begin := len(r.raw)
	switch {
	case size < 0:
		return "", errProtocol
	case size > maxSize-begin:
		return "", errTooMuch
	}
	all := bytes.NewBuffer(r.raw) // grows with the bytes that arrive: the announced size may be a lie
	_, err := io.CopyN(all, r.Reader, int64(size+len("\r\n")))
	r.raw = all.Bytes()
	if err == nil && !bytes.HasSuffix(r.raw, []byte("\r\n")) {
		err = errProtocol
	}
	if err != nil {
		return "", err
	}
	return string(r.raw[begin : begin+size]), nil
}

// command returns the arguments of the next command. It skips empty ones, which servers do not answer. An inline
// command is split at spaces, regardless of quotes: the server parses it itself.
func (r *reader) command() (args []string, err error) {
	for len(args) == 0 {
		r.raw = nil
		first, err := r.Peek(1)
		switch {
		case err != nil:
			return nil, err
		case first[0] == 0x16: // the record type of a TLS handshake
			return nil, errTLS
		case first[0] == '*':
			args, err = r.array()
		default:
			var line string
			line, err = r.line(maxInline)
			args = strings.Fields(line)
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

// array reads a command as clients send it.
func (r *reader) array() (args []string, err error) {
	line, err := r.line(maxInline)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n > maxValues {
		return nil, errProtocol
	}
	for range n {
		if line, err = r.line(maxInline); err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
		if err != nil || line[0] != '$' {
			return nil, errProtocol
		}
		arg, err := r.text(size)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// A value is a reply of a server, or a part of one.
type value struct {
	kind byte // its first byte; '_' for nil in any of the protocol's forms
	text string
	all  []value
}

// reply returns the next reply or push. Its bytes include its attributes.
func (r *reader) reply() (value, error) {
	r.raw, r.values = nil, 0
	return r.value(0)
}

func (r *reader) value(depth int) (v value, err error) {
	line, err := r.line(maxSize)
	if err != nil {
		return v, err
	}
	r.values++
	if line == "" || r.values > maxValues || depth > maxDepth {
		return v, errProtocol
	}
	v.kind, v.text = line[0], line[1:]
	if strings.IndexByte("+-:,#(_", v.kind) >= 0 {
		return v, nil
	}
	n, err := strconv.Atoi(v.text)
	switch {
	case err != nil || n < -1 || n > maxSize:
		return v, errProtocol
	case n == -1:
		return value{kind: '_'}, nil
	case strings.IndexByte("$=!", v.kind) >= 0:
		v.text, err = r.text(n)
		return v, err
	case v.kind == '|': // attributes of the value that follows
		if _, err := r.valuesOf(2*n, depth); err != nil {
			return v, err
		}
		return r.value(depth + 1)
	case v.kind == '%':
		n *= 2
	case strings.IndexByte("*~>", v.kind) < 0:
		return v, errProtocol
	}
	v.all, err = r.valuesOf(n, depth)
	return v, err
}

// valuesOf reads the values within a value.
func (r *reader) valuesOf(n, depth int) (all []value, err error) {
	for range n {
		one, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// isError reports whether a reply is an error that begins with this word.
func (v value) isError(word string) bool {
	return (v.kind == '-' || v.kind == '!') && strings.HasPrefix(v.text, word+" ")
}

// longestReply bounds a string in the text of a reply, in bytes.
const longestReply = 60

// String returns a reply as redis-cli prints it, but on one line and shortened.
func (v value) String() string {
	switch v.kind {
	case '_':
		return "(nil)"
	case '$', '=':
		text := v.text
		if v.kind == '=' {
			_, text, _ = strings.Cut(text, ":") // txt: or mkd:
		}
		if len(text) > longestReply {
			text = strings.ToValidUTF8(text[:longestReply], "") + "…"
		}
		return strconv.Quote(text)
	case '*', '~', '>', '%':
		var parts []string
		for _, one := range v.all {
			parts = append(parts, one.String())
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return v.text
}

// failed reports whether a reply contains an error.
func (v value) failed() bool {
	return v.kind == '-' || v.kind == '!' || slices.ContainsFunc(v.all, value.failed)
}
