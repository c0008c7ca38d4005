package handlers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// An instantRedis speaks the protocol of Redis on a loopback port. It keeps nothing, says yes to every command at once,
// and allocates nothing for it: what a benchmark measures over it is the service.
type instantRedis struct {
	addr    string
	replies map[string][]byte // by the command, or the digest of the script
}

func startInstantRedis(t testing.TB) *instantRedis {
	t.Helper()
	units, sold := []byte("$6\r\n100000\r\n"), []byte("*2\r\n:1\r\n:99999\r\n")
	s := &instantRedis{replies: map[string][]byte{
		"hello": []byte("-ERR unknown command\r\n"), // version 2 of the protocol
		"set":   []byte("+OK\r\n"), "get": units, minimalScript.Hash(): sold,
	}}
	for _, names := range []map[string]string{lock.ScriptNames(), stock.ScriptNames()} {
		for digest, name := range names {
			switch name {
			case "take":
				s.replies[digest] = sold
			case "read":
				s.replies[digest] = units
			default:
				s.replies[digest] = []byte(":1\r\n")
			}
		}
	}
	s.addr = listen(t, s.serve)
	return s
}

// listen serves each connection to a loopback port until the test ends, and returns the port's address.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		open.Wait() // the client was closed before, as it was opened later
	})
	return listener.Addr().String()
}

func (s *instantRedis) serve(conn net.Conn) {
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	var word []byte
	for {
		words, err := count(in, '*')
		if err != nil {
			return
		}
		var reply []byte
		for i := range words {
			if word, err = bulk(in, word); err != nil {
				return
			}
			if i == 0 || i == 1 && reply == nil { // evalsha, and its digest
				reply = s.replies[string(word)]
			}
		}
		if reply == nil {
			reply = []byte("-ERR no such command here\r\n")
		}
		_, _ = out.Write(reply) // Flush returns its error
		if in.Buffered() > 0 {
			continue // a pipeline gets its replies together
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

var errProtocol = errors.New("not the protocol")

// count reads a line such as *3 or $11, and returns its number.
func count(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 4 || line[0] != kind {
		return 0, fmt.Errorf("%w: %q", errProtocol, line)
	}
	return strconv.Atoi(string(line[1 : len(line)-2]))
}

// bulk reads one word of a command into the memory of the last one.
func bulk(in *bufio.Reader, word []byte) ([]byte, error) {
	n, err := count(in, '$')
	if err != nil {
		return nil, err
	}
	if cap(word) < n+2 {
		word = make([]byte, n+2)
	}
	word = word[:n+2]
	_, err = io.ReadFull(in, word)
	return word[:n], err
}
