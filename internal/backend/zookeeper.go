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

// ErrZooKeeperAway says that there was no session in time, so that nothing was sent.
var ErrZooKeeperAway = errors.New("no session with ZooKeeper")

// ZooKeeperOptions are what an instance wants of its connection.
type ZooKeeperOptions struct {
	Session time.Duration // what the session's timeout should be; the server may set bounds
	Timeout time.Duration // for connecting, and for each operation
	// Hooks stand between the rungs and the server, the first one outermost.
	Hooks []ZooKeeperHook
	// Dial is how to connect; nil: as usual.
	Dial zk.Dialer
	// Name is the instance's, for those who look at its nodes.
	Name string
}

// A ZooKeeperHook sees each operation, and decides whether and how it goes on.
type ZooKeeperHook func(ctx context.Context, o *ZooKeeperOperation, next func(context.Context) error) error

// A ZooKeeperOperation is one request as hooks see it.
type ZooKeeperOperation struct {
	Name  string // "zk:create"
	Path  string // of the node it is about
	Reply string // in words, once there is one
}

// ZooKeeper is a connection to a server of an ensemble, and the session that is kept through it. The client connects
// again by itself, with the same session if that has not ended, else with a new one.
//
// What the client's library leaves open is dealt with here. Its operations take no context, and without a connection
// they queue up to be sent at some later time: here they wait for a session first, end in time, and say by
// [ErrZooKeeperAway] that nothing was sent. Every other error that is not the server's word leaves open whether the
// operation was carried out. The library's channel of events drops what nobody reads in time, so states are read by
// its callback. It keeps the session's timeout to itself, gives a silent server almost seven of them to answer its
// greeting, and sleeps before it connects again: see zookeeper_conn.go. It logs; this does not.
type ZooKeeper struct {
	Address string // "host:port,…"
	o       ZooKeeperOptions
	conn    *zk.Conn
	granted atomic.Int64 // the session's timeout, as the server has it
	fresh   atomic.Bool  // there is news, so that it is worth connecting at once
	closed  chan struct{}

	mu sync.Mutex
	up chan struct{} // closed while there is a session

	watches watches
}

// OpenZooKeeper returns a connection to "host:port,…". It need not answer yet: that is [ZooKeeper.Ping]'s to find out.
func OpenZooKeeper(address string, o ZooKeeperOptions) (*ZooKeeper, error) {
	z := &ZooKeeper{Address: address, o: o, up: make(chan struct{}), closed: make(chan struct{})}
	z.watches.on = map[string]*watch{}
	z.granted.Store(int64(o.Session))
	if !Hosts(address) { // it is not shown: what is no host may be a password
		return nil, errors.New("not a list of ZooKeeper servers such as host:2181,host2:2181")
	}
	conn, _, err := zk.Connect(strings.Split(address, ","), o.Session, zk.WithDialer(z.dial), zk.WithHostProvider(&zooKeeperHosts{z: z}),
		zk.WithEventCallback(z.state), zk.WithLogger(silence{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("not a list of ZooKeeper servers such as host:2181: %s", address)
	}
	z.conn = conn
	return z, nil
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// Close ends the session, and with it whatever is bound to it.
func (z *ZooKeeper) Close() {
	close(z.closed)
	z.conn.Close()
}

// Session returns how long the session lasts without a word from this client: what was asked for, or less.
func (z *ZooKeeper) Session() time.Duration {
	return min(z.o.Session, time.Duration(z.granted.Load()))
}

// SessionID names the session: what another one made is not this one's.
func (z *ZooKeeper) SessionID() int64 { return z.conn.SessionID() }

// maxInstance bounds the name of an instance in a node.
const maxInstance = 64

// Instance returns the name of the instance as it can stand in a node.
func (z *ZooKeeper) Instance() string { return Plain(z.o.Name, maxInstance) }

// state follows the session. It is called on the library's own goroutine, and must not block.
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

// session waits until there is one.
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

// do lets the hooks see an operation, and gives it its time.
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

// reply is the server's answer in words, or "" if there was none.
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

// Answered reports whether the server said what came of an operation, if only that it refused it.
func Answered(err error) bool {
	for _, answer := range []error{zk.ErrNodeExists, zk.ErrNoNode, zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrNoAuth} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return err == nil
}

// Interrupted reports whether an operation failed because its connection or its session ended, as both do when a
// process was paused for long. The next operation gets a new one, if any can be had. The library returns what it could
// not write as the network says it.
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
		if errors.Is(a.err, zk.ErrNoServer) { // it was still in the library's queue
			a.err = fmt.Errorf("%w: %w", ErrZooKeeperAway, a.err)
		}
		return a.value, a.err
	case <-ctx.Done():
		return value, fmt.Errorf("no answer from ZooKeeper: %w", context.Cause(ctx))
	}
}
