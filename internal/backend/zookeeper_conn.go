package backend

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// zooKeeperConn reads the session timeout from the server's first packet, because the library does not expose it. It
// also bounds the wait for that packet by the timeout of any other reply. And it reads no reply before the library has
// set its watches anew: the library takes the last transaction for them from a field that each reply changes, on
// another goroutine (go-zookeeper/zk, pull request 35).
type zooKeeperConn struct {
	net.Conn
	z         *ZooKeeper
	greeting  []byte
	held      bool          // the first reply was held back
	rewatched chan struct{} // signals that watches were set anew
}

const (
	greetingSize = 12  // of the first packet: length, protocol version, and timeout in ms, of four bytes each
	setWatches   = 101 // a request's code, which follows its length and its number
	// rewatching bounds the wait for watches that the library does not have yet.
	rewatching = 100 * time.Millisecond
)

func (z *ZooKeeper) dial(network, address string, _ time.Duration) (net.Conn, error) {
	dial := z.o.Dial
	if dial == nil {
		dial = net.DialTimeout
	}
	conn, err := dial(network, address, z.o.Timeout)
	if err != nil {
		return nil, err
	}
	return &zooKeeperConn{Conn: conn, z: z, rewatched: make(chan struct{}, 1)}, nil
}

// Read is part of net.Conn.
func (c *zooKeeperConn) Read(p []byte) (int, error) {
	if len(c.greeting) == greetingSize && !c.held {
		c.held = true
		if c.z.watches.any() {
			select {
			case <-c.rewatched:
			case <-time.After(rewatching):
			}
		}
	}
	n, err := c.Conn.Read(p)
	if missing := greetingSize - len(c.greeting); missing > 0 {
		c.greeting = append(c.greeting, p[:min(n, missing)]...)
		if len(c.greeting) == greetingSize {
			c.z.storeTimeout(binary.BigEndian.Uint32(c.greeting[8:]))
		}
	}
	return n, err
}

// Write is part of net.Conn.
func (c *zooKeeperConn) Write(p []byte) (int, error) {
	if len(p) >= 12 && binary.BigEndian.Uint32(p[8:]) == setWatches {
		select {
		case c.rewatched <- struct{}{}:
		default:
		}
	}
	return c.Conn.Write(p)
}

// storeTimeout stores the session timeout. For an expired session the server sends 0.
func (z *ZooKeeper) storeTimeout(milliseconds uint32) {
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

// zooKeeperHosts makes the library reconnect soon: at once after a connection broke or a session ended, and then every
// reconnectGap. The library's own provider sleeps for a second after it has tried all servers, which is longer than a
// short session lasts. It also looks up the servers' names only once, at the start: that fails for a name that is not
// known yet, and keeps the old address of a server that has moved. Here the names are looked up at each dial.
type zooKeeperHosts struct {
	z       *ZooKeeper
	servers []string
	tried   int // servers tried since the last connection
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

// reconnectGap is the pause after no server could be reached.
const reconnectGap = 100 * time.Millisecond

// Next is part of zk.HostProvider. The library checks whether it was closed only if retryStart is true.
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
