package backendtest

import (
	"bytes"
	"net"
	"os"
	"sync"
	"time"
)

// pipe returns the two ends of a connection in memory. A write to it does not wait for a read of the other end, as it
// does with net.Pipe: like a socket it has a buffer, which has no limit here.
func pipe() (client, server net.Conn) {
	requests, replies := newFlow(), newFlow()
	return &end{in: replies, out: requests}, &end{in: requests, out: replies}
}

// A flow is one direction of a connection.
type flow struct {
	came chan struct{} // holds one notice that there is something to read, or that the flow was closed

	mu     sync.Mutex
	data   bytes.Buffer
	closed bool
}

func newFlow() *flow { return &flow{came: make(chan struct{}, 1)} }

// take returns what has come, or 0 if nothing has. After the end of a closed flow it returns io.EOF.
func (f *flow) take(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.data.Len() == 0 && !f.closed {
		return 0, nil
	}
	return f.data.Read(p)
}

func (f *flow) put(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, net.ErrClosed
	}
	f.notice()
	return f.data.Write(p)
}

func (f *flow) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.notice()
}

func (f *flow) notice() {
	select {
	case f.came <- struct{}{}:
	default:
	}
}

// An end is one end of a connection in memory.
type end struct {
	in, out *flow

	mu    sync.Mutex
	until time.Time // the deadline for reads
}

// Read returns what has come, and waits until something comes. It keeps to the deadline that was set before it began.
func (e *end) Read(p []byte) (int, error) {
	e.mu.Lock()
	until := e.until
	e.mu.Unlock()
	var over <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		over = timer.C
	}
	for {
		if n, err := e.in.take(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-e.in.came:
		case <-over:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (e *end) Write(p []byte) (int, error) { return e.out.put(p) }

// Close ends both directions. The other end still reads what was written before.
func (e *end) Close() error {
	e.in.close()
	e.out.close()
	return nil
}

// SetReadDeadline is part of net.Conn.
func (e *end) SetReadDeadline(t time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until = t
	return nil
}

// SetDeadline is part of net.Conn.
func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

// SetWriteDeadline is part of net.Conn. A write takes no time.
func (e *end) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr is part of net.Conn.
func (e *end) LocalAddr() net.Addr { return memoryAddr }

// RemoteAddr is part of net.Conn.
func (e *end) RemoteAddr() net.Addr { return memoryAddr }

var memoryAddr = &net.UnixAddr{Name: "memory", Net: "unix"}
