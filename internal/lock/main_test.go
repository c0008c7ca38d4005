package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/backend/sqldb"
)

// On the embedded Redis, leases end in virtual time: see onEmbedded. Other servers have only real time. Their tests
// wait for a lease to end and compute little, so more of them run in parallel than there are processors. The embedded
// Redis creates a Lua state for each script and drops it: with the usual heap, half of the work would be garbage
// collection. The flag -parallel and the variable GOGC still count.
func TestMain(m *testing.M) {
	backendtest.AtOnce(16, 8)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	backend.Silence()
	exit := backendtest.Share()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if n := askedAgain.Load(); n > 0 {
			fmt.Printf("%d questions were asked again, with longer leases\n", n)
		}
		exit(code)
	}))
}

// A shop has the servers of a test: one Redis for the single-node locks, others for Redlock, an SQL database, and a
// ZooKeeper. Any number of instances use it.
type shop struct {
	redis   *backendtest.Server
	redlock []*backendtest.Server
	// zookeeper starts a ZooKeeper at its first call. From then on janitor is a session there.
	zookeeper func() *backendtest.ZooKeeperServer
	janitor   atomic.Pointer[backend.ZooKeeper]
	sql       string // DSN
	// commands returns those that rungs ask for, and that redis knows.
	commands func() []string
	// bare returns a client for plain commands to each of redlock, and to redis.
	bare func() []redis.UniversalClient
}

func newShop(t testing.TB, start func(testing.TB) *backendtest.Server, nodes int) *shop {
	t.Helper()
	s := shopOn(t, start(t))
	for range nodes {
		s.redlock = append(s.redlock, start(t))
	}
	return s
}

// shopOn returns a shop with that Redis.
func shopOn(t testing.TB, server *backendtest.Server) *shop {
	t.Helper()
	s := &shop{redis: server, sql: backendtest.SQLiteFile(t)}
	s.zookeeper = sync.OnceValue(func() *backendtest.ZooKeeperServer {
		server := backendtest.StartZooKeeper(t)
		s.janitor.Store(server.Session(t, backend.ZooKeeperOptions{Session: 10 * time.Second}))
		return server
	})
	s.bare = sync.OnceValue(func() (clients []redis.UniversalClient) {
		for _, server := range append(slices.Clone(s.redlock), s.redis) {
			clients = append(clients, backendtest.Client(t, server))
		}
		return clients
	})
	s.commands = sync.OnceValue(func() []string {
		return AskCommands(context.Background(), backendtest.Client(t, s.redis), "any")
	})
	return s
}

// An instance stands for a process. It has its own clients and rungs, all of which a crash ends.
type instance struct {
	Backends
	rung    Rung
	tryLock TryLock
	wait    Waiting
	crash   func()
	link    link // to ZooKeeper
}

// nodeTimeout bounds the time that a node of Redlock gets to answer, as a part of the TTL does. It is longer than
// usual: a busy machine must not look like a lack of nodes.
const nodeTimeout = 500 * time.Millisecond

// instance starts an instance that offers one rung. Hooks watch or disturb its commands.
func (s *shop) instance(t testing.TB, r Rung, hooks ...redis.Hook) *instance {
	t.Helper()
	if slices.Contains(r.Needs, NeedZooKeeper) {
		backendtest.RequireZooKeeper(t)
	}
	life, crash := context.WithCancel(context.Background())
	i := &instance{rung: r, crash: crash}
	i.Backends = Backends{Redis: backendtest.Client(t, s.redis, hooks...), Commands: s.commands(),
		RedlockTimeout: nodeTimeout, Process: Process{Life: life, Background: new(sync.WaitGroup)}}
	i.SQL = s.database(t, hooks...)
	for _, node := range s.redlock {
		i.Redlock = append(i.Redlock, backendtest.Client(t, node, hooks...))
	}
	if slices.Contains(r.Needs, NeedZooKeeper) {
		i.session(t, s.zookeeper(), hooks)
	}
	t.Cleanup(func() {
		i.crash()
		i.Background.Wait()
	})
	i.tryLock, i.wait = r.Build(i.Backends)
	return i
}

// database returns the shop's SQL database as one instance sees it.
func (s *shop) database(t testing.TB, hooks ...redis.Hook) *sqldb.DB {
	t.Helper()
	db := backendtest.OpenSQL(t, s.sql)
	for _, one := range hooks {
		db.Around = one.(hook).around
	}
	return db
}

// around passes the statements of an SQL database to the hook, except for the creation of the table, which belongs to a
// new database as "hello" belongs to a new connection.
func (h hook) around(ctx context.Context, statement, _ string, do sqldb.Do) (n int64, err error) {
	if statement == "create" {
		return do(ctx)
	}
	err = h(ctx, redis.NewCmd(ctx, "sql:"+statement), func(ctx context.Context) error {
		n, err = do(ctx)
		return err
	})
	return n, err
}

// rungs returns the rungs that can be built on the servers of the shop.
func (s *shop) rungs(t testing.TB) []Rung {
	t.Helper()
	b := Backends{Redis: backendtest.Client(t, s.redis), Redlock: []redis.UniversalClient{nil}, SQL: s.database(t),
		Commands: s.commands()}
	return slices.DeleteFunc(Ladder(), func(r Rung) bool {
		return b.Missing(r) != "" && !slices.Contains(r.Needs, NeedZooKeeper)
	})
}

// lock acquires the lock, which must be free. An attempt that took longer than the TTL fails, and is repeated. It may
// be called on any goroutine.
func (i *instance) lock(t testing.TB, key string, ttl time.Duration) *Lease {
	t.Helper()
	return i.lockAs(t, key, Options{TTL: ttl})
}

// constantDelay returns a constant Delay.
func constantDelay(d time.Duration) Delay {
	return func(int) time.Duration { return d }
}

// lockAs is lock with options.
func (i *instance) lockAs(t testing.TB, key string, o Options) *Lease {
	t.Helper()
	ctx := context.Background()
	lease, err := poll(ctx, margin, constantDelay(50*time.Millisecond), func(ctx context.Context) (*Lease, error) {
		return i.try(ctx, key, o)
	})
	if !assert.NoError(t, err) {
		return &Lease{Context: ctx, unlock: func(context.Context) error { return err }}
	}
	return lease
}

// try makes one attempt. On a busy machine a node may not answer within its timeout. Such an attempt is indeterminate,
// and try repeats it. A key that it may have set blocks the next attempt until it is swept.
func (i *instance) try(ctx context.Context, key string, o Options) (lease *Lease, err error) {
	unanswered := false
	for range 100 {
		lease, err = i.tryLock(ctx, key, o)
		unanswered = unanswered || errors.Is(err, ErrNoQuorum)
		if err == nil || !unanswered {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return lease, err
}

// tryOnce takes the lock if it is free, releases it at once, and reports whether it was free.
func (i *instance) tryOnce(t *testing.T, key string) bool {
	t.Helper()
	lease, err := i.try(context.Background(), key, minute)
	if err != nil {
		require.ErrorIs(t, err, ErrBusy)
		return false
	}
	if lease.Sold != nil {
		lease.Sold()
	}
	unlock(t, lease)
	return true
}

// unlock releases a lock, which must still be ours. It ignores a node of Redlock that is too slow to answer, because a
// sweep follows.
func unlock(t *testing.T, lease *Lease) {
	t.Helper()
	assert.NotErrorIs(t, lease.Unlock(context.Background()), ErrLost)
}

// freeWithin reports whether the lock becomes free before d has passed. It backs off: each try costs processor time,
// and a busy machine looks like a broken lock.
func (i *instance) freeWithin(t *testing.T, key string, d time.Duration) bool {
	t.Helper()
	delay := 5 * time.Millisecond
	for deadline := time.Now().Add(d); time.Now().Before(deadline); time.Sleep(delay) {
		if i.tryOnce(t, key) {
			return true
		}
		delay = min(2*delay, max(d/50, 5*time.Millisecond))
	}
	return false
}

// A send sends a command, or hands it to the next hook.
type send = func(context.Context) error

// A hook runs between a client and its server. It sees each command, and decides whether to send it.
type hook func(ctx context.Context, cmd redis.Cmder, next send) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hello" { // of a new connection, not of the rung
			return next(ctx, cmd)
		}
		return h(ctx, cmd, func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func rung(t testing.TB, id string) Rung {
	t.Helper()
	r, err := Find(id)
	require.NoError(t, err)
	return r
}

// remove removes a lock on all servers, even if it is held. The Redis comes last: the timer of v5-as-printed
// creates its key again.
func (s *shop) remove(t *testing.T, key string) {
	t.Helper()
	if janitor := s.janitor.Load(); janitor != nil {
		_, err := Backends{ZooKeeper: janitor}.breakNodes(context.Background(), key)
		assert.NoError(t, err)
	}
	db := s.database(t)
	defer db.Close() // not only at the end of the test: a hand-over may need many tries, a server has 100 connections
	_, err := Backends{SQL: db}.breakSQL(context.Background(), key)
	assert.NoError(t, err)
	for _, client := range s.bare() {
		assert.NoError(t, client.Del(context.Background(), key).Err())
	}
}

// deadNode starts a node that accepts connections and handles each by serve.
func deadNode(t *testing.T, serve func(conn net.Conn)) *backendtest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	t.Cleanup(open.Wait)
	t.Cleanup(func() { _ = l.Close() })
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	return &backendtest.Server{URL: "redis://" + l.Addr().String()}
}

// silent reads everything and never answers.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// hangsUp closes every connection at once.
func hangsUp(net.Conn) {}

// acquire waits for the lock as the rung does.
func (i *instance) acquire(ctx context.Context, key string, maxWait time.Duration, o Options) (*Lease, error) {
	return i.wait(ctx, key, maxWait, func(ctx context.Context) (*Lease, error) { return i.tryLock(ctx, key, o) })
}

// startWaiting is acquire on a goroutine. It delivers the lease, or nil.
func (i *instance) startWaiting(ctx context.Context, key string, maxWait time.Duration, o Options) <-chan *Lease {
	got := make(chan *Lease, 1)
	go func() {
		lease, _ := i.acquire(ctx, key, maxWait, o)
		got <- lease
	}()
	return got
}

// waitFor is startWaiting, for as long as most rungs do.
func (i *instance) waitFor(ctx context.Context, key string, o Options) <-chan *Lease {
	return i.startWaiting(ctx, key, 20*time.Second, o)
}

// rebuild builds the rung again, after a change of its backends.
func (i *instance) rebuild() { i.tryLock, i.wait = i.rung.Build(i.Backends) }

// get returns the lease that comes within a minute, or nil if none does.
func get(t *testing.T, from <-chan *Lease) *Lease { return getWithin(t, time.Minute, from) }

func getWithin(t *testing.T, limit time.Duration, from <-chan *Lease) *Lease {
	t.Helper()
	select {
	case lease := <-from:
		return lease
	case <-time.After(limit):
		t.Error("no lease")
		return nil
	}
}

// has returns the lease that comes within a minute. It fails the test if none does.
func has(t *testing.T, from <-chan *Lease) *Lease { return hasWithin(t, time.Minute, from) }

func hasWithin(t *testing.T, limit time.Duration, from <-chan *Lease) *Lease {
	t.Helper()
	lease := getWithin(t, limit, from)
	require.NotNil(t, lease)
	return lease
}

// awaitLoss waits until the holder notices that its lease is lost.
func awaitLoss(t *testing.T, lease *Lease, within time.Duration) {
	t.Helper()
	begun := time.Now()
	select {
	case <-lease.Context.Done():
		require.ErrorIs(t, context.Cause(lease.Context), ErrLost)
		t.Logf("the holder noticed after %d ms", time.Since(begun).Milliseconds())
	case <-time.After(within):
		require.Fail(t, "the holder never noticed")
	}
}

// minute is a lease that lasts longer than a test.
var minute = Options{TTL: time.Minute}

// minuteFor is minute for an owner of that name.
func minuteFor(name string) Options { return Options{TTL: time.Minute, Owner: NewOwner(name)} }
