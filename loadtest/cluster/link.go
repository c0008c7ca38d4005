package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// A Link is the network path from one client to one server, through a proxy that no other client uses: a fault on it
// affects that client alone. Requests and responses can have one fault each at a time.
type Link struct {
	addr, upstream string
	tap            Tap // or nil
	work           sync.WaitGroup

	mu       sync.Mutex
	conns    int             // opened so far
	listener net.Listener    // nil while the link is cut
	life     context.Context // of the connections
	end      context.CancelFunc
	faults   [2]linkFault
	healed   chan struct{} // closed when the faults end
}

// A linkFault affects all data in one direction.
type linkFault struct {
	drops bool
	delay time.Duration
}

// The directions of a link.
const (
	requests = iota
	responses
)

// A Tap is called for each event of a connection, before any bytes of the event are passed on. Connections are numbered
// from 1 in the order in which they open; calls for one direction of a connection do not overlap. If it returns a
// channel, the link holds these bytes, and all later ones in that direction, until the channel delivers true; on false
// the connection closes, and the bytes are lost. They are also lost if the connection closes for another reason.
type Tap func(conn int, event Event) (hold <-chan bool)

// An Event is what happens on a connection.
type Event int

// The events of a connection. A tap can only hold bytes, and returns nil for the other events.
const (
	RequestBytes Event = requests
	ReplyBytes   Event = responses
	ConnOpened   Event = 2
	ConnClosed   Event = 3
)

// NewLink returns a link to a host:port, which calls the tap unless that is nil. Close it.
func NewLink(upstream string, tap Tap) (*Link, error) {
	l := &Link{upstream: upstream, tap: tap, healed: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	var err error
	for range 3 { // a port that is free now may be taken when the proxy listens
		var port int
		if port, err = freePort(); err != nil {
			return nil, err
		}
		l.addr = fmt.Sprintf("127.0.0.1:%d", port)
		if err = l.Heal(); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("cannot start a proxy to %s: %w", upstream, err)
}

// Addr returns the host:port at which clients connect.
func (l *Link) Addr() string { return l.addr }

// Cut closes the connections and refuses new ones.
func (l *Link) Cut() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	if l.listener == nil {
		return nil
	}
	err := l.listener.Close()
	l.listener = nil
	return err
}

// DropRequests drops requests. The connections stay open.
func (l *Link) DropRequests() error { return l.set(requests, linkFault{drops: true}) }

// DropResponses drops responses. The server still carries out the requests.
func (l *Link) DropResponses() error { return l.set(responses, linkFault{drops: true}) }

// DelayResponses delays responses until the link is healed.
func (l *Link) DelayResponses() error { return l.set(responses, linkFault{delay: time.Hour}) }

// DelayRequests delays requests by that much.
func (l *Link) DelayRequests(by time.Duration) error { return l.set(requests, linkFault{delay: by}) }

// Partition drops data in both directions.
func (l *Link) Partition() error { return errors.Join(l.DropRequests(), l.DropResponses()) }

func (l *Link) set(direction int, f linkFault) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[direction] = f
	return nil
}

// Heal removes all faults from the link. Delayed data arrives. Dropped data stays lost, and the connections close.
func (l *Link) Heal() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.faults[requests].drops || l.faults[responses].drops || l.listener == nil {
		l.end()
		l.life, l.end = context.WithCancel(context.Background())
	}
	l.faults = [2]linkFault{}
	close(l.healed)
	l.healed = make(chan struct{})
	if l.listener == nil {
		var listener net.Listener
		if listener, err = new(net.ListenConfig).Listen(l.life, "tcp", l.addr); err == nil {
			l.listener = listener
			l.work.Go(func() { l.accept(listener) })
		}
	}
	return err
}

// Close closes the link for good.
func (l *Link) Close() {
	_ = l.Cut()
	l.work.Wait()
}

func (l *Link) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		life := l.life
		l.conns++
		conn := l.conns
		l.mu.Unlock()
		l.work.Go(func() { l.connect(life, conn, client) })
	}
}

// connect forwards between a client and the server until either of them or the link closes the connection.
func (l *Link) connect(life context.Context, conn int, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := new(net.Dialer).DialContext(life, "tcp", l.upstream)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	life, end := context.WithCancel(life)
	defer end()
	context.AfterFunc(life, func() { _, _ = client.Close(), server.Close() })
	l.passes(life, conn, ConnOpened)
	var replies sync.WaitGroup
	replies.Go(func() {
		defer end()
		l.pass(life, conn, server, client, responses)
	})
	l.pass(life, conn, client, server, requests)
	end()
	replies.Wait()
	l.passes(life, conn, ConnClosed)
}

// passes waits while the tap holds an event, and reports whether it then lets it pass.
func (l *Link) passes(life context.Context, conn int, event Event) bool {
	if l.tap == nil {
		return true
	}
	hold := l.tap(conn, event)
	if hold == nil {
		return true
	}
	select {
	case passes := <-hold:
		return passes
	case <-life.Done():
		return false
	}
}

// pass forwards data in one direction, as the tap and the faults allow.
func (l *Link) pass(life context.Context, conn int, from, to net.Conn, direction int) {
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		if n > 0 && !l.passes(life, conn, Event(direction)) {
			return
		}
		l.mu.Lock()
		fault, healed := l.faults[direction], l.healed
		l.mu.Unlock()
		if n > 0 && fault.delay > 0 {
			select {
			case <-time.After(fault.delay):
			case <-healed:
			case <-life.Done():
			}
		}
		if n > 0 && !fault.drops {
			_, failed := to.Write(data[:n])
			err = errors.Join(err, failed)
		}
		if err != nil {
			return
		}
	}
}

// through returns the URL of a server as reached over the link.
func (l *Link) through(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	u.Host = l.addr
	return u.String()
}
