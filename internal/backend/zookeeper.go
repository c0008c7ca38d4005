package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrZooKeeperAway means that there was no session in time, and nothing was sent.
var ErrZooKeeperAway = errors.New("no session with ZooKeeper")

// ZooKeeperOptions holds the settings of a connection.
type ZooKeeperOptions struct {
	Session time.Duration // the session timeout to ask for; the server may bound it
	Timeout time.Duration // for connecting, and for each operation
	// Hooks wrap each operation, the first one outermost.
	Hooks []ZooKeeperHook
	// Dial connects to a server. Nil: net.DialTimeout.
	Dial zk.Dialer
	// Name is the instance's name, which its nodes contain.
	Name string
}

// A ZooKeeperHook wraps each operation: it calls next to execute it.
type ZooKeeperHook func(ctx context.Context, o *ZooKeeperOperation, next func(context.Context) error) error

// A ZooKeeperOperation describes one request to hooks.
type ZooKeeperOperation struct {
	Name  string // "zk:create"
	Path  string // of the node
	Reply string // as text, after the reply
}

// ZooKeeper is a connection to a server of an ensemble, with its session. It reconnects by itself, with the same
// session if that has not ended, otherwise with a new one.
//
// It makes up for gaps of the client library. The library's operations take no context, and without a connection they
// are queued to be sent later. Here an operation first waits for a session, ends in time, and returns
// [ErrZooKeeperAway] if nothing was sent. After any other error that is not the server's reply, the operation may have
// been executed. The library's channel of events drops events that are not read in time, so the state is followed by
// its callback. The library does not expose the session timeout, waits almost seven timeouts for a silent server, and
// sleeps before it reconnects: see zookeeper_conn.go.
type ZooKeeper struct {
	Address string // "host:port,…"
	o       ZooKeeperOptions
	conn    *zk.Conn
	granted atomic.Int64 // the session timeout that the server granted
	fresh   atomic.Bool  // the state has changed: connect at once
	closed  chan struct{}

	mu sync.Mutex
	up chan struct{} // closed while there is a session

	watches watches
}

// OpenZooKeeper returns a connection to "host:port,…". It does not wait for an answer: call [ZooKeeper.Ping] for that.
func OpenZooKeeper(address string, o ZooKeeperOptions) (*ZooKeeper, error) {
	z := &ZooKeeper{Address: address, o: o, up: make(chan struct{}), closed: make(chan struct{})}
	z.watches.on = map[string]*watch{}
	z.granted.Store(int64(o.Session))
	if !Hosts(address) { // it is not shown: it may contain a password
		return nil, errors.New("not a list of ZooKeeper servers such as host:2181,host2:2181")
	}
	conn, _, err := zk.Connect(strings.Split(address, ","), o.Session, zk.WithDialer(z.dial),
		zk.WithHostProvider(&zooKeeperHosts{z: z}), zk.WithEventCallback(z.state), zk.WithLogger(silence{}),
		zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("not a list of ZooKeeper servers such as host:2181: %s", address)
	}
	z.conn = conn
	return z, nil
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// Close ends the session, and with it the ephemeral nodes.
func (z *ZooKeeper) Close() {
	close(z.closed)
	z.conn.Close()
}

// Session returns the session timeout: the one asked for, or a shorter one that the server granted.
func (z *ZooKeeper) Session() time.Duration {
	return min(z.o.Session, time.Duration(z.granted.Load()))
}

// SessionID returns the ID of the session, which owns the ephemeral nodes that it created.
func (z *ZooKeeper) SessionID() int64 { return z.conn.SessionID() }

// maxInstance bounds the instance's name in a node.
const maxInstance = 64

// Instance returns the name of the instance in the form that a node can contain.
func (z *ZooKeeper) Instance() string { return SafeName(z.o.Name, maxInstance) }

// state follows the state of the session. The library calls it on its own goroutine, so it must not block.
func (z *ZooKeeper) state(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	if e.State == zk.StateHasSession || e.State == zk.StateExpired {
		z.fresh.Store(true)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	select {
	case <-z.up:
		if e.State != zk.StateHasSession {
			z.up = make(chan struct{})
		}
	default:
		if e.State == zk.StateHasSession {
			close(z.up)
		}
	}
}

// session waits for a session.
func (z *ZooKeeper) session(ctx context.Context) error {
	z.mu.Lock()
	up := z.up
	z.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrZooKeeperAway, context.Cause(ctx))
	}
}

// do executes an operation inside the hooks, with a timeout.
func do[T any](ctx context.Context, z *ZooKeeper, o *ZooKeeperOperation, send func() (T, error)) (value T, err error) {
	through := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, z.o.Timeout)
		defer cancel()
		value, err = within(ctx, z, send)
		o.Reply = reply(value, err)
		return err
	}
	for i := len(z.o.Hooks) - 1; i >= 0; i-- {
		hook, next := z.o.Hooks[i], through
		through = func(ctx context.Context) error { return hook(ctx, o, next) }
	}
	err = through(ctx)
	return value, err
}

// reply returns the server's reply as text, or "" if there was none.
func reply(value any, err error) string {
	switch value.(type) {
	case string, bool, []string, fmt.Stringer:
		if err == nil {
			return fmt.Sprint(value)
		}
	}
	if Answered(err) && err != nil {
		return err.Error()
	}
	return ""
}

// Answered reports whether the server replied to an operation, even if it refused it.
func Answered(err error) bool {
	for _, answer := range []error{zk.ErrNodeExists, zk.ErrNoNode, zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrNoAuth} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return err == nil
}

// Interrupted reports whether an operation failed because its connection or its session ended, as after a long pause of
// the process. The next operation waits for a new one. For a failed write the library returns the error of the network.
func Interrupted(err error) bool {
	var network *net.OpError
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved) || errors.As(err, &network) && !network.Timeout()
}

func within[T any](ctx context.Context, z *ZooKeeper, send func() (T, error)) (value T, err error) {
	if err := z.session(ctx); err != nil {
		return value, err
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := send()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		if errors.Is(a.err, zk.ErrNoServer) { // it was still queued in the library
			a.err = fmt.Errorf("%w: %w", ErrZooKeeperAway, a.err)
		}
		return a.value, a.err
	case <-ctx.Done():
		return value, fmt.Errorf("no answer from ZooKeeper: %w", context.Cause(ctx))
	}
}
