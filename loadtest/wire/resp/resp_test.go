package resp

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandsAreReadOneByOne(t *testing.T) {
	const get = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	r := NewReader(strings.NewReader(get + "PING\r\n" + "\r\n*0\r\n*-1\r\n set k  v\n" + "*1\r\n$0\r\n\r\n" + get[:9]))
	for _, want := range []struct {
		raw  string
		args []string
	}{
		{get, []string{"GET", "k"}}, {"PING\r\n", []string{"PING"}}, {" set k  v\n", []string{"set", "k", "v"}},
		{"*1\r\n$0\r\n\r\n", []string{""}},
	} {
		args, err := r.Command()
		require.NoError(t, err)
		assert.Equal(t, want.args, args)
		assert.Equal(t, want.raw, string(r.Raw))
	}
	_, err := r.Command()
	require.ErrorIs(t, err, io.EOF)
	for text, want := range map[string]error{
		"*x\r\n": ErrProtocol, "*1\r\n:1\r\n": ErrProtocol, "*1\r\n\r\n": ErrProtocol, "*1\r\n$x\r\n": ErrProtocol,
		"*1\r\n$-1\r\n": ErrProtocol, "*1\r\n$1\r\nxyz": ErrProtocol, "*9999999\r\n": ErrProtocol,
		"*1\r\n$99999999999\r\n": ErrTooMuch, strings.Repeat("x", maxInline+1): ErrProtocol, "\x16\x03\x01": ErrTLS,
	} {
		_, err := NewReader(strings.NewReader(text)).Command()
		assert.ErrorIs(t, err, want, "%.20q", text)
	}
}

func TestRepliesOfAllTypesAreRead(t *testing.T) {
	for _, one := range []struct{ raw, text string }{
		{"+OK\r\n", "OK"},
		{"-ERR no\r\n", "ERR no"},
		{":7\r\n", "7"},
		{":-1\r\n", "-1"},
		{"$2\r\n98\r\n", `"98"`},
		{"$0\r\n\r\n", `""`},
		{"$-1\r\n", "(nil)"},
		{"*-1\r\n", "(nil)"},
		{"_\r\n", "(nil)"},
		{",1.5\r\n", "1.5"},
		{"#t\r\n", "t"},
		{"(123456789012345678901234567890\r\n", "123456789012345678901234567890"},
		{"=6\r\ntxt:ab\r\n", `"ab"`},
		{"!5\r\nERR x\r\n", "ERR x"},
		{"*2\r\n+OK\r\n*1\r\n$1\r\na\r\n", `[OK ["a"]]`},
		{"~1\r\n:1\r\n", "[1]"},
		{"%1\r\n+k\r\n:1\r\n", "[k 1]"},
		{">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n", `[invalidate ["k"]]`},
		{"|1\r\n+ttl\r\n:3\r\n:1\r\n", "1"},
		{"*2\r\n|1\r\n+ttl\r\n:3\r\n:1\r\n:2\r\n", "[1 2]"},
		{"$70\r\n" + strings.Repeat("x", 70) + "\r\n", `"` + strings.Repeat("x", longestReply) + `…"`},
	} {
		r := NewReader(strings.NewReader(one.raw + "+next\r\n"))
		v, err := r.Reply()
		require.NoError(t, err, "%q", one.raw)
		assert.Equal(t, one.raw, string(r.Raw))
		assert.Equal(t, one.text, v.String())
		assert.Equal(t, strings.Contains(one.raw, "ERR"), v.Failed())
		next, err := r.Reply()
		require.NoError(t, err)
		assert.Equal(t, "next", next.String())
	}
	for _, text := range []string{
		"\r\n", "GET\r\n", "?1\r\n", "*x\r\n", "$-2\r\n", "$1\r\nxyz", "$99999999999\r\n",
		strings.Repeat("*1\r\n", maxDepth+2) + ":1\r\n",
		strings.Repeat("|0\r\n", maxDepth+2) + ":1\r\n", "*2000000\r\n" + strings.Repeat("_\r\n", 2000000),
		"%99999999999999\r\n",
	} {
		_, err := NewReader(bytes.NewReader([]byte(text))).Reply()
		assert.ErrorIs(t, err, ErrProtocol, "%.20q", text)
	}
}
