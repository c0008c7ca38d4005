package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Embedded is a Redis inside this process, for machines that have none: miniredis, with TTLs that follow the clock. It
// keeps its data in memory, runs Lua about ten times slower than Redis, and has no persistence, replication or CONFIG.
type Embedded struct {
	server *miniredis.Miniredis
	port   net.Listener
	stop   chan struct{}
	done   sync.WaitGroup
}

// tick is the precision of TTLs. Miniredis can read the clock on every command instead, but then it visits every key
// with a TTL each time.
const tick = 5 * time.Millisecond

// closeTime bounds Close: an endless script blocks the server.
const closeTime = 2 * time.Second

// StartEmbedded starts an embedded Redis on a host:port. Port 0 means any free port.
func StartEmbedded(addr string) (*Embedded, error) {
	port, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	server := miniredis.NewMiniRedis()
	unused, err := server.Dial() // starts it without a port of its own
	if err != nil {
		return nil, errors.Join(err, port.Close())
	}
	_ = unused.Close()
	e := &Embedded{server: server, port: port, stop: make(chan struct{})}
	e.done.Go(e.follow)
	e.done.Go(e.accept)
	return e, nil
}

// accept serves clients until the port is closed.
func (e *Embedded) accept() {
	serve := e.server.Server().ServeConn
	for {
		conn, err := e.port.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			time.Sleep(tick)
			continue
		}
		serve(&framedConn{Conn: conn})
	}
}

// follow moves the server's time forward with the clock.
func (e *Embedded) follow() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-e.stop:
			return
		case <-ticker.C:
			now := time.Now()
			e.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

// Addr returns the host:port it listens on.
func (e *Embedded) Addr() string { return e.port.Addr().String() }

// URL returns the address as a URL for --redis.
func (e *Embedded) URL() string { return "redis://" + e.Addr() }

// Server returns the miniredis itself.
func (e *Embedded) Server() *miniredis.Miniredis { return e.server }

// Close stops the server and drops its data. It returns after 2 s even if a script still holds the server, which then
// ends with the process.
func (e *Embedded) Close() {
	_ = e.port.Close()
	close(e.stop)
	ended := make(chan struct{})
	go func() {
		e.done.Wait()
		e.server.Close()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeTime):
	}
}
