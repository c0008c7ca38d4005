package lock

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// zkSession is the timeout of the tests' sessions, and so the TTL of their locks in ZooKeeper.
const zkSession = 800 * time.Millisecond

// session opens the instance's session. Its hooks see operations as they see commands. A crash cuts the connection
// unknown to the server, so the session must expire by its timeout.
func (i *instance) session(t testing.TB, s *backendtest.ZooKeeperServer, hooks []redis.Hook) {
	t.Helper()
	options := backend.ZooKeeperOptions{Session: zkSession, Dial: i.link.dial, Name: "a"}
	for _, h := range hooks {
		options.Hooks = append(options.Hooks, h.(hook).operation)
	}
	i.ZooKeeper = s.Session(t, options)
	crash := i.crash
	i.crash = func() {
		i.link.cut()
		crash()
	}
}

func (h hook) operation(ctx context.Context, o *backend.ZooKeeperOperation, next send) error {
	return h(ctx, redis.NewCmd(ctx, o.Name, o.Path), next)
}

// A link makes connections that can be cut, and heals again.
type link struct {
	mu   sync.Mutex
	dead bool
	open []net.Conn

	reads atomic.Int64 // of a node's data, which set the watches
}

// A requestCounter counts the client's requests. The client writes each of them in one piece.
type requestCounter struct {
	net.Conn
	link *link
}

func (c requestCounter) Write(p []byte) (int, error) {
	const getData = 4 // the code of a request follows its length and its number
	if len(p) >= 12 && binary.BigEndian.Uint32(p[8:]) == getData {
		c.link.reads.Add(1)
	}
	return c.Conn.Write(p)
}

func (l *link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return nil, errors.New("the link is cut")
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	l.open = append(l.open, conn)
	return requestCounter{conn, l}, nil
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = false
}
