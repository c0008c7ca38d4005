package lock

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
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

// onWire wraps the connections of a client, including those of its subscriptions.
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

// clientOn returns a client with wrapped connections, to each node of a cluster too.
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

// dropSubscribe drops every SUBSCRIBE and SSUBSCRIBE, so the server never answers it.
func dropSubscribe(conn net.Conn) net.Conn { return dropSubscribeConn{conn} }

type dropSubscribeConn struct{ net.Conn }

func (c dropSubscribeConn) Write(p []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(p), []byte("subscribe")) {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// onEachTopology runs a test of each of these rungs on each kind of server, and on a cluster.
func onEachTopology(t *testing.T, ids []string, test func(t *testing.T, s *shop, r Rung)) {
	t.Helper()
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			onEachShop(t, id, 0, test)
			t.Run("cluster", func(t *testing.T) {
				backendtest.Long(t)
				test(t, shopOn(t, &backendtest.Server{URL: backendtest.StartCluster(t)}), rung(t, id))
			})
		})
	}
}

// long exceeds what a step takes on a busy machine, and is shorter than the leases that waiters wait for.
const long = 20 * time.Second

// If a SUBSCRIBE is never answered, no waiter waits longer than its max wait. A waiter with time acquires the lock
// without the subscription.
func TestSubscribeNeverAnswered(t *testing.T) {
	t.Parallel()
	onEachTopology(t, []string{"v7", "v7-cached", "v8"}, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		b.Redis = clientOn(t, s.redis, dropSubscribe)
		b.rebuild()
		lease := a.lock(t, r.Key("k"), time.Minute)

		var impatient sync.WaitGroup
		for range 3 {
			impatient.Go(func() {
				_, err := b.acquire(context.Background(), r.Key("k"), 100*time.Millisecond, minute)
				assert.ErrorIs(t, err, ErrBusy)
			})
		}
		require.True(t, ends(impatient.Wait), "they had 100 ms")
		got := b.waitFor(context.Background(), r.Key("k"), minute)
		time.Sleep(2 * heartbeat)
		unlock(t, lease)
		unlock(t, hasWithin(t, long, got))
	})
}

// The subscription ends with the process, even if an order still waits.
func TestSubscriptionEndsWithProcess(t *testing.T) {
	t.Parallel()
	unchanged := func(c net.Conn) net.Conn { return c }
	for name, wire := range map[string]onWire{"answered": unchanged, "unanswered": dropSubscribe} {
		t.Run(name, func(t *testing.T) {
			s, r := newShop(t, backendtest.StartEmbedded, 0), rung(t, "v7")
			a, b := s.instance(t, r), s.instance(t, r)
			b.Redis = clientOn(t, s.redis, wire)
			b.rebuild()
			a.lock(t, "k", time.Minute)
			ctx, cancel := context.WithCancel(context.Background())
			got := b.waitFor(ctx, "k", minute)
			time.Sleep(100 * time.Millisecond) // usually it is in the read by then; any moment must do
			b.crash()
			assert.True(t, ends(b.Background.Wait))
			cancel()
			assert.Nil(t, <-got)
		})
	}
}

// ends reports whether wait returns in time.
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

// listen returns a subscription of the instance, until the test ends.
func (i *instance) listen(t *testing.T) *subscription {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	sub := newSubscription("c", cancel)
	i.Background.Go(func() { (&subscriptions{runtime: newRuntime(i.Backends)}).listen(ctx, sub) })
	return sub
}

// A message that is published while the subscription is broken is lost. When it is confirmed again, one waiter tries.
func TestSubscriptionBackLetsWaiterTry(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	a := newShop(t, backendtest.StartRedis, 0).instance(t, rung(t, "v7"))
	sub := a.listen(t)
	for range 3 {
		select {
		case <-sub.retries: // there is no tick here
		case <-time.After(long):
			require.Fail(t, "no waiter was let try")
		}
		require.True(t, sub.isConfirmed())
		require.NoError(t, a.Redis.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	}
}

// A subscription whose server is gone is not confirmed, so that new waiters do not rely on it.
func TestSubscriptionBrokenIsNotConfirmed(t *testing.T) {
	t.Parallel()
	server, err := backend.StartEmbedded("127.0.0.1:0")
	require.NoError(t, err)
	s := shopOn(t, &backendtest.Server{URL: server.URL()})
	a := s.instance(t, rung(t, "v7"))
	sub := a.listen(t)
	require.NoError(t, sub.awaitConfirmed(t.Context(), time.Now().Add(long)))
	require.True(t, sub.isConfirmed())
	server.Close()
	require.Eventually(t, func() bool { return !sub.isConfirmed() }, long, time.Millisecond)
}

// A subscription ends with its last waiter, and at once. Otherwise subscriptions would pile up.
func TestSubscriptionEndsWithWaiters(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v7", 0, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r)
		a.lock(t, "k", time.Hour)
		listening := func() int64 { return a.Redis.PubSubNumSub(t.Context(), channelOf("k")).Val()[channelOf("k")] }
		start := time.Now()
		for range 40 {
			ctx, leave := context.WithCancel(t.Context())
			gone := a.waitFor(ctx, "k", minute)
			require.Eventually(t, func() bool { return listening() == 1 }, long, time.Millisecond)
			leave()
			require.Nil(t, <-gone)
			require.Eventually(t, func() bool { return listening() == 0 }, long, time.Millisecond)
		}
		assert.Less(t, time.Since(start), long, "and not after a silent heartbeat")
	})
}

// A holder that dies publishes nothing. Waiters notice that the lock has ended, long before the end of the
// lease that they saw.
func TestSilentEndIsNoticed(t *testing.T) {
	t.Parallel()
	onEach(t, "v7", func(t *testing.T, a, b *instance, bare redis.UniversalClient) {
		a.lock(t, "k", time.Hour)
		got := b.startWaiting(t.Context(), "k", 10*long, minute)
		awaitSubscriber(t, bare, channelOf("k"))
		time.Sleep(heartbeat / 4) // by now it has tried again, and only listens
		require.NoError(t, bare.Del(t.Context(), "k").Err())
		unlock(t, hasWithin(t, long, got))
	})
}

// A subscription is replaced when its connection is silent and does not answer a ping either.
func TestSubscriptionSilentIsReplaced(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v7", 0, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r)
		var dialled atomic.Int64
		a.Redis = clientOn(t, s.redis, func(conn net.Conn) net.Conn {
			dialled.Add(1)
			return &oneReply{Conn: conn}
		})
		a.listen(t)
		require.Eventually(t, func() bool { return dialled.Load() >= 2 }, long, 10*time.Millisecond)
	})
}

// oneReply delivers only the first read, which is the confirmation of a subscription.
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

// subscriptionWith returns a confirmed subscription without a server, and a function that waits with it.
func subscriptionWith(t *testing.T) (*subscription, func(attempt Attempt) (*Lease, error)) {
	t.Helper()
	sub := newSubscription("c", func() {})
	sub.setConfirmed()
	return sub, func(attempt Attempt) (*Lease, error) {
		return newRuntime(Backends{}).waitForMessages(t.Context(),
			waiter{key: "k", attempt: attempt, deadline: time.Now().Add(time.Hour), subscription: sub})
	}
}

// A waiter that was woken and whose try fails passes the message on.
func TestWakeUpSurvivesFailedTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sub, wait := subscriptionWith(t)
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
		sub.notify("")
		require.ErrorIs(t, <-results, broken)
		require.NoError(t, <-results)
		assert.Zero(t, time.Since(start), "at once, and not at the end of a lease or at a heartbeat")
	})
}

// A waiter that gives up leaves the subscription, and so the message of the release, to those that stay.
func TestWakeUpSurvivesWaiter(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v7", "v8", "v18"}, 0, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		lease := a.lock(t, "k", time.Minute)
		ctx, leave := context.WithCancel(t.Context())
		gone, stays := b.waitFor(ctx, "k", minute), b.waitFor(t.Context(), "k", minute)
		time.Sleep(heartbeat / 4) // by now both listen
		leave()
		assert.Nil(t, <-gone)
		start := time.Now()
		unlock(t, lease)
		unlock(t, has(t, stays))
		assert.Less(t, time.Since(start), heartbeat/4, "it was notified, and did not try by itself")
	})
}

// When a lock ends without a message, earlier than the lease that its waiters saw, a waiter acquires it within a
// tickTime. At each tick only one waiter tries.
func TestWaitersNoticeSilentEarlyEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const waiters = 64
		sub, wait := subscriptionWith(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go sub.tick(ctx)
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
		assert.LessOrEqual(t, time.Since(ended), tickTime)
		assert.LessOrEqual(t, tries.Load(), int64(waiters)+int64(time.Minute/heartbeat)+1)
		for range waiters - 1 {
			sub.notify("")
			require.NoError(t, <-results)
		}
	})
}

// Waiters do not poll. While the lock is held, one of those that share a subscription tries per tickTime,
// however many they are. On v8 each also tries per heartbeat to renew its place, and on v18 the first of an instance.
func TestWaitersSendFewCommands(t *testing.T) {
	t.Parallel()
	const waiters, beats = 8, 10
	perBeat := map[string]int{"v7": 1, "v8": waiters + 1, "v18": 2}
	onRungs(t, slices.Sorted(maps.Keys(perBeat)), 0, func(t *testing.T, s *shop, r Rung) {
		var sent atomic.Int64
		a, b := s.instance(t, r), s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
			sent.Add(1)
			return next(ctx)
		}))
		lease := a.lock(t, "k", time.Minute)
		ctx, leave := context.WithCancel(t.Context())
		var all []<-chan *Lease
		for range waiters {
			all = append(all, b.startWaiting(ctx, "k", time.Minute, minute))
		}
		time.Sleep(heartbeat / 2) // by now each of them listens
		before := sent.Load()
		time.Sleep(beats * heartbeat)
		assert.LessOrEqual(t, sent.Load()-before, int64(beats*perBeat[r.Number]))
		leave()
		for _, got := range all {
			<-got // the instance may end once none of them undoes anything
		}
		unlock(t, lease)
	})
}

// Breaking a lock notifies its waiters: by Redisson's message on v7's channel, on a cluster too, and on v8 the first
// one in the queue.
func TestBreakWakesTheWaiters(t *testing.T) {
	t.Parallel()
	onEachTopology(t, []string{"v7", "v8"}, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		const product = "10000"
		woken := make(chan struct{}, 10)
		b.OnWake = func(context.Context, Notification, string) { woken <- struct{}{} }
		b.rebuild()
		for range 3 { // a try without a message may come first
			a.lock(t, r.Key(product), time.Minute)
			got := b.waitFor(context.Background(), r.Key(product), minute)
			b.awaitWaiter(t, r, product)
			_, err := a.Break(context.Background(), product)
			require.NoError(t, err)
			unlock(t, <-got)
		}
		select {
		case <-woken:
		case <-time.After(long):
			assert.Fail(t, "no waiter was woken by a message")
		}
	})
}

// awaitWaiter waits until there is a waiter with a subscription for the rung's lock of a product.
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
