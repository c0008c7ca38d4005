package backend

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Embedded is a Redis inside this process, for machines that have none: miniredis, with TTLs that follow the clock. It
// keeps its data in memory, runs Lua about ten times slower than Redis, and has no persistence, replication or CONFIG.
type Embedded struct {
	server *miniredis.Miniredis
	stop   chan struct{}
	done   sync.WaitGroup
}

// tick is the precision of TTLs. Miniredis can read the clock on every command instead, but then it visits every key
// with a TTL each time.
const tick = 5 * time.Millisecond

// StartEmbedded starts an embedded Redis on a host:port. Port 0 means any free port.
func StartEmbedded(addr string) (*Embedded, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	e := &Embedded{server: server, stop: make(chan struct{})}
	e.done.Add(1)
	go e.follow()
	return e, nil
}

// follow moves the server's time forward with the clock.
func (e *Embedded) follow() {
	defer e.done.Done()
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
func (e *Embedded) Addr() string { return e.server.Addr() }

// URL returns the address as a URL for --redis.
func (e *Embedded) URL() string { return "redis://" + e.server.Addr() }

// Server returns the miniredis itself.
func (e *Embedded) Server() *miniredis.Miniredis { return e.server }

// Close stops the server and drops its data.
func (e *Embedded) Close() {
	close(e.stop)
	e.done.Wait()
	e.server.Close()
}
