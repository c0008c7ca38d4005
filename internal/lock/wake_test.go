package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// onWire wraps the connections of a client, those of its subscriptions included.
type onWire func(net.Conn) net.Conn

func (w onWire) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return w(conn), nil
	}
}

func (onWire) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (onWire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// clientOn returns a client with the wire wrapped, on each node of a cluster too.
func clientOn(t *testing.T, s *backendtest.Server, w onWire) redis.UniversalClient {
	t.Helper()
	client := backendtest.Client(t, s)
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(w) })
	} else {
		client.AddHook(w)
	}
	return client
}

// dropSubscribe drops every SUBSCRIBE and SSUBSCRIBE: the server never hears of it, and never answers.
func dropSubscribe(conn net.Conn) net.Conn { return dropSubscribeConn{conn} }

type dropSubscribeConn struct{ net.Conn }

func (c dropSubscribeConn) Write(p []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(p), []byte("subscribe")) {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// onEachTopology runs a test on each kind of server, and on a cluster.
func onEachTopology(t *testing.T, test func(t *testing.T, s *backendtest.Server)) {
	t.Helper()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) { test(t, start(t)) })
	t.Run("cluster", func(t *testing.T) { test(t, &backendtest.Server{URL: backendtest.StartCluster(t)}) })
}

// long is longer than anything here takes on a busy machine, and shorter than the leases that are waited for.
const long = 20 * time.Second

// A SUBSCRIBE that is never answered costs nobody more than the maxWait they brought, neither the first waiter nor
// those after it; a waiter with maxWait gets the lock without it; and the subscription ends with the process.
func TestASubscribeThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	onEachTopology(t, func(t *testing.T, server *backendtest.Server) {
		for _, id := range []string{"v7", "v7-cached", "v8"} {
			t.Run(id, func(t *testing.T) {
				s, r := &shop{redis: server, sql: backendtest.SQLiteFile(t)}, rung(t, id)
				a, b := s.instance(t, r), s.instance(t, r)
				b.Redis = clientOn(t, server, dropSubscribe)
				b.tryLock, b.wait = r.Build(b.Backends)
				lease := a.lock(t, r.Key(id), time.Minute)

				var impatient sync.WaitGroup
				for range 3 {
					impatient.Go(func() {
						_, err := b.wait(context.Background(), r.Key(id), 100*time.Millisecond,
							func(ctx context.Context) (*Lease, error) { return b.tryLock(ctx, r.Key(id), time.Minute) })
						assert.ErrorIs(t, err, ErrBusy)
					})
				}
				require.True(t, ends(impatient.Wait), "they had 100 ms")
				got := b.waitFor(context.Background(), r.Key(id))
				time.Sleep(2 * heartbeat)
				unlock(t, lease)
				select {
				case lease := <-got:
					require.NotNil(t, lease)
					unlock(t, lease)
				case <-time.After(long):
					require.Fail(t, "it waits for the answer to its SUBSCRIBE")
				}
				waits := b.waitFor(context.Background(), r.Key(id)) // and one is there when the process ends
				unlock(t, <-waits)
				b.crash()
				require.True(t, ends(b.Background.Wait), "the subscription outlives the process")
			})
		}
	})
}

// The subscription of one who still waits when the process ends is ended too.
func TestSubscriptionsEndWithTheProcess(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string]onWire{"answered": func(c net.Conn) net.Conn { return c }, "unanswered": dropSubscribe} {
		t.Run(name, func(t *testing.T) {
			s, r := newShop(t, backendtest.StartEmbedded, 0), rung(t, "v7")
			a, b := s.instance(t, r), s.instance(t, r)
			b.Redis = clientOn(t, s.redis, wire)
			b.tryLock, b.wait = r.Build(b.Backends)
			a.lock(t, "k", time.Minute)
			ctx, cancel := context.WithCancel(context.Background())
			got := b.waitFor(ctx, "k")
			time.Sleep(100 * time.Millisecond) // in most runs it is inside the read by then; any moment has to do
			b.crash()
			assert.True(t, ends(b.Background.Wait))
			cancel()
			assert.Nil(t, <-got)
		})
	}
}

// ends reports whether wait returns, within a time that is longer than it can need.
func ends(wait func()) bool {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(long):
		return false
	}
}

// A message that is published while the subscription is gone is lost. When it stands again one of those who wait tries.
func TestAWaiterTriesWhenTheSubscriptionIsBack(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	a := newShop(t, backendtest.StartRedis, 0).instance(t, rung(t, "v7"))
	ctx, cancel := context.WithCancel(context.Background())
	one := newSubscription("c", cancel)
	a.Background.Go(func() { (&subscriptions{runtime: newRuntime(a.Backends)}).listen(ctx, one) })
	defer cancel()
	for range 3 {
		select {
		case <-one.retries: // without any tick
		case <-time.After(long):
			require.Fail(t, "nobody was told")
		}
		require.True(t, one.isConfirmed())
		require.NoError(t, a.Redis.Do(ctx, "CLIENT", "KILL", "TYPE", "pubsub").Err())
	}
}

// A subscription whose server has gone does not stand: those who come then do not count on it.
func TestASubscriptionThatBrokeDoesNotStand(t *testing.T) {
	t.Parallel()
	server, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	s := &shop{redis: &backendtest.Server{URL: server.URL()}, sql: backendtest.SQLiteFile(t)}
	a := s.instance(t, rung(t, "v7"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	one := newSubscription("c", cancel)
	a.Background.Go(func() { (&subscriptions{runtime: newRuntime(a.Backends)}).listen(ctx, one) })
	require.NoError(t, one.awaitConfirmed(ctx, time.Now().Add(long)))
	require.True(t, one.isConfirmed())
	server.Close()
	require.Eventually(t, func() bool { return !one.isConfirmed() }, long, time.Millisecond)
}

// A subscription ends with its last waiter, and at once: where many come and go they would pile up.
func TestSubscriptionsEndWithTheirWaiters(t *testing.T) {
	t.Parallel()
	s := newShop(t, backendtest.StartEmbedded, 0)
	a := s.instance(t, rung(t, "v7"))
	a.lock(t, "k", time.Hour)
	listening := func() int64 { return a.Redis.PubSubNumSub(t.Context(), channelOf("k")).Val()[channelOf("k")] }
	start := time.Now()
	for range 40 {
		ctx, leave := context.WithCancel(t.Context())
		gone := a.waitFor(ctx, "k")
		require.Eventually(t, func() bool { return listening() == 1 }, long, time.Millisecond)
		leave()
		require.Nil(t, <-gone)
		require.Eventually(t, func() bool { return listening() == 0 }, long, time.Millisecond)
	}
	assert.Less(t, time.Since(start), long, "and not when it has not heard anything for a heartbeat")
}

// A lock that ends without a message, long before the lease that was seen does, is found out.
func TestASilentEndIsFoundOut(t *testing.T) {
	t.Parallel()
	onEach(t, "v7", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		a.lock(t, "k", time.Hour)
		got := make(chan *Lease, 1)
		go func() {
			lease, _ := b.wait(t.Context(), "k", 10*long, func(ctx context.Context) (*Lease, error) {
				return b.tryLock(ctx, "k", time.Minute)
			})
			got <- lease
		}()
		awaitSubscriber(t, bare, channelOf("k"))
		time.Sleep(heartbeat / 4) // so that it has tried again, since when it only listens
		require.NoError(t, bare.Del(t.Context(), "k").Err())
		select {
		case lease := <-got:
			require.NotNil(t, lease)
			unlock(t, lease)
		case <-time.After(long):
			require.Fail(t, "it sleeps until the lease that it saw would have ended")
		}
	})
}

// A subscription whose connection has gone silent, a ping included, is given up for another.
func TestASilentSubscriptionIsReplaced(t *testing.T) {
	t.Parallel()
	s := newShop(t, backendtest.StartEmbedded, 0)
	a := s.instance(t, rung(t, "v7"))
	var dialled atomic.Int64
	a.Redis = clientOn(t, s.redis, func(conn net.Conn) net.Conn {
		dialled.Add(1)
		return &oneReply{Conn: conn}
	})
	ctx, cancel := context.WithCancel(context.Background())
	one := newSubscription("c", cancel)
	a.Background.Go(func() { (&subscriptions{runtime: newRuntime(a.Backends)}).listen(ctx, one) })
	defer cancel()
	require.Eventually(t, func() bool { return dialled.Load() >= 2 }, long, 10*time.Millisecond)
}

// oneReply delivers what is read first, the confirmation of a subscription, and then nothing more.
type oneReply struct {
	net.Conn
	read atomic.Bool
}

func (c *oneReply) Read(p []byte) (int, error) {
	if c.read.Swap(true) {
		for {
			if n, err := c.Conn.Read(p); err != nil {
				return n, err
			}
		}
	}
	return c.Conn.Read(p)
}

// subscriptionWith returns a bell whose subscription stands, and a [Waiting] that listens to it. Nothing comes from a
// server.
func subscriptionWith(t *testing.T) (*subscription, func(attempt Attempt) (*Lease, error)) {
	t.Helper()
	one := newSubscription("c", func() {})
	one.setConfirmed()
	return one, func(attempt Attempt) (*Lease, error) {
		return newRuntime(Backends{}).waitForMessages(t.Context(),
			waiter{key: "k", attempt: attempt, deadline: time.Now().Add(time.Hour), subscription: one})
	}
}

// Pitfall 13: one who was woken and whose try fails leaves the message to the next.
func TestAWakeUpIsNotLostWithAFailedTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, wait := subscriptionWith(t)
		var free atomic.Bool
		broken := errors.New("connection lost")
		var failed atomic.Int64
		attempt := func(context.Context) (*Lease, error) {
			switch {
			case !free.Load():
				return nil, busyFor{time.Hour}
			case failed.Add(1) == 1:
				return nil, broken
			}
			return &Lease{}, nil
		}
		start := time.Now()
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := wait(attempt)
				results <- err
			}()
		}
		synctest.Wait()
		free.Store(true)
		one.notify("")
		require.ErrorIs(t, <-results, broken)
		require.NoError(t, <-results)
		assert.Zero(t, time.Since(start), "at once, and not when a lease ends or a heartbeat comes")
	})
}

// A lock that ends without a message, and sooner than the lease that its waiters saw, is had within a heartbeat; and of
// any number of waiters one tries at each.
func TestALockThatEndsEarlyAndSilently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const waiters = 64
		one, wait := subscriptionWith(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go one.tick(ctx)
		start := time.Now()
		ended := start.Add(time.Minute)
		var tries atomic.Int64
		results := make(chan error, waiters)
		for range waiters {
			go func() {
				_, err := wait(func(context.Context) (*Lease, error) {
					tries.Add(1)
					if time.Now().Before(ended) {
						return nil, busyFor{time.Hour}
					}
					return &Lease{}, nil
				})
				results <- err
			}()
		}
		require.NoError(t, <-results)
		assert.LessOrEqual(t, time.Since(ended), heartbeat)
		assert.LessOrEqual(t, tries.Load(), int64(waiters)+int64(time.Minute/heartbeat)+1)
		for range waiters - 1 {
			one.notify("")
			require.NoError(t, <-results)
		}
	})
}

// Those who can hear nothing come again by themselves, and no more often than a heartbeat.
func TestWithoutASubscriptionWaitersComeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, wait := subscriptionWith(t)
		one.setBroken()
		start, tries := time.Now(), 0
		_, err := wait(func(context.Context) (*Lease, error) {
			if tries++; tries > 10 {
				return &Lease{}, nil
			}
			return nil, busyFor{time.Hour}
		})
		require.NoError(t, err)
		assert.Equal(t, 10*heartbeat, time.Since(start))
	})
}

// Whatever broke the lock of a product, those who wait for it are told: Redisson's message on v7's channel, on a
// cluster too, and the first of v8's queue.
func TestBreakWakesThoseWhoWait(t *testing.T) {
	t.Parallel()
	onEachTopology(t, func(t *testing.T, server *backendtest.Server) {
		for _, id := range []string{"v7", "v8"} {
			t.Run(id, func(t *testing.T) {
				s, r := &shop{redis: server, sql: backendtest.SQLiteFile(t)}, rung(t, id)
				a, b := s.instance(t, r), s.instance(t, r)
				product := fmt.Sprint("break", id)
				woken := make(chan struct{}, 10)
				b.OnWake = func(context.Context, Notification, string) { woken <- struct{}{} }
				b.tryLock, b.wait = r.Build(b.Backends)
				for range 3 { // a try without a message may come first
					a.lock(t, r.Key(product), time.Minute)
					got := b.waitFor(context.Background(), r.Key(product))
					b.awaitWaiter(t, r, product)
					_, err := a.Break(context.Background(), product)
					require.NoError(t, err)
					unlock(t, <-got)
				}
				select {
				case <-woken:
				case <-time.After(long):
					assert.Fail(t, "none of them was woken by a message")
				}
			})
		}
	})
}

// awaitWaiter waits until somebody waits for the rung's lock of a product, and hears of its release.
func (i *instance) awaitWaiter(t *testing.T, r Rung, product string) {
	t.Helper()
	ctx, channel, count := context.Background(), channelOf(r.Key(product)), i.Redis.PubSubNumSub
	if r.Number == "v8" {
		channel = fairChannelOf(r.Key(product))
	}
	if _, cluster := i.Redis.(*redis.ClusterClient); cluster {
		count = i.Redis.PubSubShardNumSub
	}
	require.Eventually(t, func() bool {
		return count(ctx, channel).Val()[channel] > 0 &&
			(r.Number != "v8" || i.Redis.LLen(ctx, queueOf(r.Key(product))).Val() > 0)
	}, long, time.Millisecond)
}
