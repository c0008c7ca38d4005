package backendtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Wire is a proxy between the clients and the servers of a test. It records the requests, and can drop the reply to
// one of them: the server executes the request, the Wire reads and discards the reply, and closes the connection.
type Wire struct {
	mu       sync.Mutex
	requests []string
	lose     int  // the number of the request whose reply to drop, from 1; 0: none
	refuse   bool // whether to accept no connections after that
	ends     []*listener
	open     sync.WaitGroup
}

// A listener accepts the connections to one server.
type listener struct {
	addr, target string
	accepting    net.Listener // nil: none are accepted
	conns        []net.Conn
}

// NewWire returns a Wire that ends with the test.
func NewWire(t testing.TB) *Wire {
	t.Helper()
	w := &Wire{}
	t.Cleanup(func() {
		w.mu.Lock()
		for _, e := range w.ends {
			if e.accepting != nil {
				e.accepting.Close()
			}
			for _, conn := range e.conns {
				_ = conn.Close()
			}
		}
		w.mu.Unlock()
		w.open.Wait()
	})
	return w
}

// To adds a server, and returns the port of the Wire that leads to it.
func (w *Wire) To(t testing.TB, port int) int {
	t.Helper()
	own := FreePort(t) // it is closed now and then, and opened again
	e := &listener{addr: fmt.Sprintf("127.0.0.1:%d", own), target: fmt.Sprintf("127.0.0.1:%d", port)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listen(t, e)
	w.ends = append(w.ends, e)
	return own
}

// LoseReply clears the record of requests, and drops the reply to the nth request from now on. With refuse the servers
// cannot be reached after it.
func (w *Wire) LoseReply(n int, refuse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.lose, w.refuse = nil, n, refuse
}

// Requests returns the requests since LoseReply.
func (w *Wire) Requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Restore drops no more replies and accepts connections again. It returns the requests since LoseReply.
func (w *Wire) Restore(t testing.TB) []string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose, w.refuse = 0, false
	for _, e := range w.ends {
		if e.accepting == nil {
			w.listen(t, e)
		}
	}
	return slices.Clone(w.requests)
}

// listen accepts connections for one server. The caller holds mu.
func (w *Wire) listen(t testing.TB, e *listener) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		e.accepting, err = new(net.ListenConfig).Listen(context.Background(), "tcp", e.addr)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	accepting := e.accepting
	w.open.Go(func() {
		for {
			client, err := accepting.Accept()
			if err != nil {
				return
			}
			w.open.Go(func() { w.connect(e, client) })
		}
	})
}

// connect forwards requests and replies until one side closes, or a reply is dropped.
func (w *Wire) connect(e *listener, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", e.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	w.mu.Lock()
	e.conns = append(e.conns, client, server)
	w.mu.Unlock()
	asked := make(chan bool, 1024) // for each request under way: whether to drop its reply
	w.open.Go(func() {
		defer func() { _ = server.Close() }()
		in := bufio.NewReader(client)
		for {
			raw, err := readValue(in)
			if err != nil {
				return
			}
			asked <- w.request(raw)
			if _, err := server.Write(raw); err != nil {
				return
			}
		}
	})
	out := bufio.NewReader(server)
	for {
		raw, err := readValue(out)
		if err != nil {
			return
		}
		select {
		case lost := <-asked:
			if lost {
				w.cut()
				return
			}
		default: // a message to a subscriber
		}
		if _, err := client.Write(raw); err != nil {
			return
		}
	}
}

// cut stops accepting connections, if LoseReply asked for that.
func (w *Wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.refuse {
		return
	}
	for _, e := range w.ends {
		if e.accepting != nil {
			e.accepting.Close()
			e.accepting = nil
		}
	}
}

// request records a request, and reports whether to drop its reply. It ignores commands that clients, Sentinels and
// nodes send by themselves.
func (w *Wire) request(raw []byte) (lose bool) {
	words := bulks(raw)
	switch name := strings.ToLower(words[0]); name {
	case "hello", "client", "cluster", "command", "ping", "info", "publish", "role", "sentinel", "replconf", "psync",
		"subscribe", "ssubscribe", "unsubscribe", "sunsubscribe", "readonly", "asking", "select", "auth":
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, strings.Join(words, " "))
	return len(w.requests) == w.lose
}

// bulks returns the words of a request.
func bulks(raw []byte) []string {
	parts := strings.Split(string(raw), "\r\n") // *n $len word $len word
	var words []string
	for i := 2; i < len(parts); i += 2 {
		words = append(words, parts[i])
	}
	if len(words) == 0 {
		return []string{""}
	}
	return words
}

// readValue reads one value of the Redis protocol, version 2, and returns its bytes.
func readValue(r *bufio.Reader) ([]byte, error) {
	raw, err := r.ReadBytes('\n')
	if err != nil || len(raw) < 3 || raw[0] != '*' && raw[0] != '$' {
		return raw, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw[1:])))
	if err != nil || n < 0 {
		return raw, err
	}
	if raw[0] == '$' {
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return append(raw, body...), err
	}
	for range n {
		value, err := readValue(r)
		if err != nil {
			return raw, err
		}
		raw = append(raw, value...)
	}
	return raw, nil
}
