package resp

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
	MaxSize   = 64 << 20 // bytes of a command, of a transaction and of a reply
	maxValues = 1 << 20  // arguments of a command, and values in a reply
	maxDepth  = 64       // of values within values
	maxInline = 64 << 10 // bytes of a command without a length, as in Redis
)

var (
	// ErrProtocol is the error of bytes that are no command or reply.
	ErrProtocol = errors.New("not the Redis protocol, or beyond the limits of a wire")
	// ErrTooMuch is the error of one that is too large.
	ErrTooMuch = fmt.Errorf("a wire takes commands and replies of up to %d MB: send smaller ones", MaxSize>>20)
	// ErrTLS is the error of a client that begins TLS.
	ErrTLS = errors.New("this port does not speak TLS: connect with redis:// instead of rediss://")
)

// A Reader parses what a client or a server sends, and keeps the bytes.
type Reader struct {
	*bufio.Reader
	Raw    []byte // of the current command or reply
	values int    // in raw
}

// NewReader returns a reader of what comes from r.
func NewReader(r io.Reader) *Reader { return &Reader{Reader: bufio.NewReader(r)} }

// line reads a line, and returns it without its end.
func (r *Reader) line(most int) (string, error) {
	begin := len(r.Raw)
	for {
		part, err := r.ReadSlice('\n')
		r.Raw = append(r.Raw, part...)
		switch {
		case len(r.Raw)-begin > most || len(r.Raw) > MaxSize:
			return "", ErrProtocol
		case err == nil:
			return strings.TrimSuffix(string(r.Raw[begin:len(r.Raw)-1]), "\r"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// text reads size bytes and the line end after them.
func (r *Reader) text(size int) (string, error) {
	begin := len(r.Raw)
	switch {
	case size < 0:
		return "", ErrProtocol
	case size > MaxSize-begin:
		return "", ErrTooMuch
	}
	all := bytes.NewBuffer(r.Raw) // grows with the bytes that arrive: the announced size may be a lie
	_, err := io.CopyN(all, r.Reader, int64(size+len("\r\n")))
	r.Raw = all.Bytes()
	if err == nil && !bytes.HasSuffix(r.Raw, []byte("\r\n")) {
		err = ErrProtocol
	}
	if err != nil {
		return "", err
	}
	return string(r.Raw[begin : begin+size]), nil
}

// Command returns the arguments of the next command. It skips empty ones, which servers do not answer. An inline
// command is split at spaces, regardless of quotes: the server parses it itself.
func (r *Reader) Command() (args []string, err error) {
	for len(args) == 0 {
		r.Raw = nil
		first, err := r.Peek(1)
		switch {
		case err != nil:
			return nil, err
		case first[0] == 0x16: // the record type of a TLS handshake
			return nil, ErrTLS
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
func (r *Reader) array() (args []string, err error) {
	line, err := r.line(maxInline)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n > maxValues {
		return nil, ErrProtocol
	}
	for range n {
		if line, err = r.line(maxInline); err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
		if err != nil || line[0] != '$' {
			return nil, ErrProtocol
		}
		arg, err := r.text(size)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// Reply returns the next reply or push. Its bytes include its attributes.
func (r *Reader) Reply() (Value, error) {
	r.Raw, r.values = nil, 0
	return r.value(0)
}

func (r *Reader) value(depth int) (v Value, err error) {
	line, err := r.line(MaxSize)
	if err != nil {
		return v, err
	}
	r.values++
	if line == "" || r.values > maxValues || depth > maxDepth {
		return v, ErrProtocol
	}
	v.Kind, v.Text = line[0], line[1:]
	if strings.IndexByte("+-:,#(_", v.Kind) >= 0 {
		return v, nil
	}
	n, err := strconv.Atoi(v.Text)
	switch {
	case err != nil || n < -1 || n > MaxSize:
		return v, ErrProtocol
	case n == -1:
		return Value{Kind: '_'}, nil
	case strings.IndexByte("$=!", v.Kind) >= 0:
		v.Text, err = r.text(n)
		return v, err
	case v.Kind == '|': // attributes of the value that follows
		if _, err := r.valuesOf(2*n, depth); err != nil {
			return v, err
		}
		return r.value(depth + 1)
	case v.Kind == '%':
		n *= 2
	case strings.IndexByte("*~>", v.Kind) < 0:
		return v, ErrProtocol
	}
	v.All, err = r.valuesOf(n, depth)
	return v, err
}

// valuesOf reads the values within a value.
func (r *Reader) valuesOf(n, depth int) (all []Value, err error) {
	for range n {
		one, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// A Value is a reply of a server, or a part of one.
type Value struct {
	Kind byte // its first byte; '_' for nil in any of the protocol's forms
	Text string
	All  []Value
}

// IsError reports whether a reply is an error that begins with this word.
func (v Value) IsError(word string) bool {
	return (v.Kind == '-' || v.Kind == '!') && strings.HasPrefix(v.Text, word+" ")
}

// String returns a reply as redis-cli prints it, but on one line and shortened.
func (v Value) String() string {
	switch v.Kind {
	case '_':
		return "(nil)"
	case '$', '=':
		text := v.Text
		if v.Kind == '=' {
			_, text, _ = strings.Cut(text, ":") // txt: or mkd:
		}
		if len(text) > longestReply {
			text = strings.ToValidUTF8(text[:longestReply], "") + "…"
		}
		return strconv.Quote(text)
	case '*', '~', '>', '%':
		var parts []string
		for _, one := range v.All {
			parts = append(parts, one.String())
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return v.Text
}

// Failed reports whether a reply contains an error.
func (v Value) Failed() bool {
	return v.Kind == '-' || v.Kind == '!' || slices.ContainsFunc(v.All, Value.Failed)
}

// longestReply bounds a string in the text of a reply, in bytes.
const longestReply = 60
