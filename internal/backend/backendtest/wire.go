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

// A Wire stands between the clients and the servers of a test. It records what the clients ask for, and can lose the
// reply to one request: the server carries the request out, its reply is read and thrown away, and the connection ends.
type Wire struct {
	mu       sync.Mutex
	requests []string
	lose     int  // loses the reply to the request of this number, counted from 1; 0: to none
	refuse   bool // and from then on takes no new connection
	ends     []*end
	open     sync.WaitGroup
}

// An end is the place where the wire takes the connections to one server.
type end struct {
	addr, target string
	listener     net.Listener
	conns        []net.Conn
}

// NewWire returns a wire that ends with the test.
func NewWire(t testing.TB) *Wire {
	t.Helper()
	w := &Wire{}
	t.Cleanup(func() {
		w.mu.Lock()
		for _, e := range w.ends {
			if e.listener != nil {
				e.listener.Close()
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

// To lets the wire lead to one more server, and returns the port to reach it by.
func (w *Wire) To(t testing.TB, port int) int {
	t.Helper()
	e := &end{addr: "127.0.0.1:0", target: fmt.Sprintf("127.0.0.1:%d", port)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listen(t, e)
	e.addr = e.listener.Addr().String()
	w.ends = append(w.ends, e)
	return e.listener.Addr().(*net.TCPAddr).Port
}

// LoseReply forgets what was asked for so far, and loses the reply to the nth request from now on. With refuse the
// servers are out of reach after it.
func (w *Wire) LoseReply(n int, refuse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.lose, w.refuse = nil, n, refuse
}

// Requests returns what was asked for since LoseReply.
func (w *Wire) Requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Restore loses no more replies, and takes connections again. It returns what was asked for since LoseReply.
func (w *Wire) Restore(t testing.TB) []string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose, w.refuse = 0, false
	for _, e := range w.ends {
		if e.listener == nil {
			w.listen(t, e)
		}
	}
	return slices.Clone(w.requests)
}

// listen takes the connections of an end. The caller holds mu.
func (w *Wire) listen(t testing.TB, e *end) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		e.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", e.addr)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	listener := e.listener
	w.open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			w.open.Go(func() { w.connect(e, client) })
		}
	})
}

// connect passes requests and replies on until one side ends, or a reply is lost.
func (w *Wire) connect(e *end, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", e.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	w.mu.Lock()
	e.conns = append(e.conns, client, server)
	w.mu.Unlock()
	asked := make(chan bool, 1024) // for each request under way: whether its reply gets lost
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

// cut takes no new connections any more, if that is wanted.
func (w *Wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.refuse {
		return
	}
	for _, e := range w.ends {
		if e.listener != nil {
			e.listener.Close()
			e.listener = nil
		}
	}
}

// request records a request, and reports whether its reply is the one to lose. What a client, a Sentinel or a node asks
// for its own sake does not count.
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

// readValue reads one value of Redis' protocol, version 2, as it stands on the wire.
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
