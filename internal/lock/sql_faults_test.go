package lock

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// SQL. Acquire and release use different pooled connections, a dead connection goes unnoticed, or a timeout
// hides an acquire that succeeded: the conformance table asks about that one.

// eachSQLRung runs a test for both rungs on each server, with a holder behind a proxy, and the next holder.
func eachSQLRung(
	t *testing.T, test func(t *testing.T, r Rung, link *sqlLink, holder, next *instance),
) {
	t.Helper()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		for _, id := range []string{"v12", "v12-session"} {
			t.Run(id, func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 1)
				link := newSQLLink(t, server.Address)
				s.sql = server.DSN
				next := s.instance(t, rung(t, id))
				s.sql = strings.Replace(server.DSN, server.Address, link.address, 1)
				test(t, rung(t, id), link, s.instance(t, rung(t, id)), next)
			})
		}
	})
}

// The holder's connections break, and new ones are refused. A row survives that, and a session does not.
func TestTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	eachSQLRung(t, func(t *testing.T, r Rung, link *sqlLink, holder, next *instance) {
		lease := holder.lock(t, key(t), slowTTL)
		require.False(t, next.tryOnce(t, key(t)))
		link.cut()
		if r.Number == "v12" {
			assert.False(t, next.tryOnce(t, key(t)), "the row is still there")
		}
		require.True(t, next.freeWithin(t, key(t), slowTTL+margin))
		awaitLoss(t, lease, slowTTL+margin)
		require.Error(t, lease.Unlock(context.Background()))
		link.listen(t)
		require.True(t, holder.freeWithin(t, key(t), margin), "and the holder connects again by itself")
	})
}

// The holder's requests are lost, and neither end notices. A session has no TTL: its holder notices because a check has
// a timeout.
func TestTheConnectionFallsSilent(t *testing.T) {
	t.Parallel()
	eachSQLRung(t, func(t *testing.T, r Rung, link *sqlLink, holder, _ *instance) {
		if r.Number != "v12-session" {
			return // TestRenewalBlackout has the rungs with a TTL
		}
		holder.SQL.Timeout = slowTTL / 2
		lease := holder.lock(t, key(t), slowTTL)
		link.silent.Store(true)
		defer link.cut() // ends a check without a timeout, which the end of the instance would wait for
		awaitLoss(t, lease, slowTTL+margin)
		require.Error(t, lease.Unlock(context.Background()))
	})
}

// A session's lock is released over its own connection, even if the pool is busy. A connection that goes back to the
// pool holds no lock, and one that may hold a lock does not go back.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	eachSQLRung(t, func(t *testing.T, r Rung, _ *sqlLink, holder, next *instance) {
		var crowd sync.WaitGroup
		for n := range 8 {
			crowd.Go(func() {
				for m := range 20 {
					one := fmt.Sprintf("%s-%d-%d", key(t), n, m)
					lease := holder.lock(t, one, time.Minute)
					assert.False(t, next.tryOnce(t, one))
					unlock(t, lease)
					assert.True(t, next.tryOnce(t, one), "released over the right connection")
				}
			})
		}
		crowd.Wait()
		if r.Number != "v12-session" {
			return
		}
		lease := holder.lock(t, key(t), time.Minute)
		open := holder.SQL.SessionStats().OpenConnections
		_, err := Backends{SQL: next.SQL}.breakSQL(context.Background(), key(t))
		require.NoError(t, err)
		awaitLoss(t, lease, margin)
		require.ErrorIs(t, lease.Unlock(context.Background()), ErrLost)
		assert.Less(t, holder.SQL.SessionStats().OpenConnections, open)
	})
}

// One round trip takes the lock, and one releases it. A session's connection is checked every now and then as well: on
// a slow machine that falls into some of the tries, but not into most of them.
func TestSQLRoundTrips(t *testing.T) {
	t.Parallel()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		for _, id := range []string{"v12", "v12-session"} {
			t.Run(id, func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 1)
				link := newSQLLink(t, server.Address)
				s.sql = strings.Replace(server.DSN, server.Address, link.address, 1)
				i := s.instance(t, rung(t, id))
				for range 2 {
					require.True(t, i.tryOnce(t, key(t))) // connects, creates the table, prepares the statements
				}
				var trips []int64
				for range 11 {
					before := link.written.Load()
					require.True(t, i.tryOnce(t, key(t)))
					trips = append(trips, link.written.Load()-before)
				}
				slices.Sort(trips)
				assert.EqualValues(t, 2, trips[len(trips)/2], trips)
			})
		}
	})
}

// An sqlLink is a proxy to a server, which can break or fall silent. It counts the writes of clients: one that waits
// for each answer writes once per round trip.
type sqlLink struct {
	address, upstream string
	written           atomic.Int64
	silent            atomic.Bool // what clients write is lost

	mu       sync.Mutex
	listener net.Listener // nil while it is cut
	open     []net.Conn
}

func newSQLLink(t *testing.T, upstream string) *sqlLink {
	t.Helper()
	l := &sqlLink{address: "127.0.0.1:0", upstream: upstream}
	l.listen(t)
	l.address = l.listener.Addr().String()
	t.Cleanup(l.cut)
	return l
}

func (l *sqlLink) listen(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", l.address)
	require.NoError(t, err)
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(context.Background(), "tcp", l.upstream)
			if err != nil {
				_ = client.Close()
				continue
			}
			l.keep(listener, client, server)
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
			go func() { _, _ = io.Copy(sqlRequests{server, l}, struct{ io.Reader }{client}); _ = server.Close() }()
		}
	}()
}

// keep notes the ends of a new connection, and closes them if the link was cut since it was accepted.
func (l *sqlLink) keep(from net.Listener, ends ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, ends...)
	if l.listener != from {
		l.closeAll()
	}
}

// cut closes all connections, and refuses new ones.
func (l *sqlLink) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close()
	}
	l.listener = nil
	l.closeAll()
}

func (l *sqlLink) closeAll() {
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}

// sqlRequests counts the writes to a server.
type sqlRequests struct {
	net.Conn
	link *sqlLink
}

func (r sqlRequests) Write(data []byte) (int, error) {
	r.link.written.Add(1)
	if r.link.silent.Load() {
		return len(data), nil
	}
	return r.Conn.Write(data)
}
