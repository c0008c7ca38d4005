package backend

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// zooKeeperConn reads along while the server greets: its first packet tells the session's timeout, which the library
// keeps to itself. And until then it waits no longer for the server than for any other answer.
type zooKeeperConn struct {
	net.Conn
	z        *ZooKeeper
	greeting []byte
}

// The greeting is a length, a version of the protocol, and the timeout in milliseconds, of four bytes each.
const greetingSize = 12

func (z *ZooKeeper) dial(network, address string, _ time.Duration) (net.Conn, error) {
	dial := z.o.Dial
	if dial == nil {
		dial = net.DialTimeout
	}
	conn, err := dial(network, address, z.o.Timeout)
	if err != nil {
		return nil, err
	}
	return &zooKeeperConn{Conn: conn, z: z}, nil
}

// Read is part of net.Conn.
func (c *zooKeeperConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if missing := greetingSize - len(c.greeting); missing > 0 {
		c.greeting = append(c.greeting, p[:min(n, missing)]...)
		if len(c.greeting) == greetingSize {
			c.z.heard(binary.BigEndian.Uint32(c.greeting[8:]))
		}
	}
	return n, err
}

// heard takes the session's timeout down. A session that has expired is greeted with 0.
func (z *ZooKeeper) heard(milliseconds uint32) {
	if milliseconds > 0 {
		z.granted.Store(int64(time.Duration(milliseconds) * time.Millisecond))
	}
}

// SetReadDeadline is part of net.Conn.
func (c *zooKeeperConn) SetReadDeadline(t time.Time) error {
	if soon := time.Now().Add(c.z.o.Timeout); len(c.greeting) < greetingSize && (t.IsZero() || soon.Before(t)) {
		t = soon
	}
	return c.Conn.SetReadDeadline(t)
}

// zooKeeperHosts lets the library connect again soon: at once when a connection breaks or a session has ended, and then
// every so often. By itself it sleeps for a second whenever it has tried all servers, which with one server is always:
// longer than a short session lasts. And it looks up the servers' names once, at the start, which fails where one is not
// known yet, and goes on calling at the old address where one has moved: here they are looked up by who dials.
type zooKeeperHosts struct {
	z       *ZooKeeper
	servers []string
	tried   int // since a connection was made
}

// Init is part of zk.HostProvider.
func (h *zooKeeperHosts) Init(servers []string) error {
	for _, server := range servers {
		if _, _, err := net.SplitHostPort(server); err != nil {
			return err
		}
	}
	h.servers = slices.Clone(servers)
	rand.Shuffle(len(servers), func(i, j int) { h.servers[i], h.servers[j] = h.servers[j], h.servers[i] })
	return nil
}

// Len is part of zk.HostProvider.
func (h *zooKeeperHosts) Len() int { return len(h.servers) }

// Connected is part of zk.HostProvider.
func (h *zooKeeperHosts) Connected() { h.tried = 0 }

// reconnectGap is how long to wait when no server could be reached.
const reconnectGap = 100 * time.Millisecond

// Next is part of zk.HostProvider. Only where retryStart is true does the library look whether it was closed.
func (h *zooKeeperHosts) Next() (server string, retryStart bool) {
	server = h.servers[0]
	h.servers = append(h.servers[1:], server)
	h.tried++
	if h.tried <= len(h.servers) || h.z.fresh.CompareAndSwap(true, false) {
		return server, false
	}
	select {
	case <-time.After(reconnectGap):
		return server, false
	case <-h.z.closed:
		return server, true
	}
}
