package lock

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
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
	"stockapi/internal/backend/sqldb"
)

// Each test is of a defect of a widely used lock library, found in a public issue. A rung passes, or fails where it
// should. The conformance table asks about two more, an acquire without a reply that is not undone and a caller that
// blocks itself, and TestSweepLateAcquire about a third.

// A dead node. One of three nodes accepts connections and never answers. It must cost an acquire and a
// release the node timeout, not the client's timeout.
func TestDeadNode(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v6", 2, func(t *testing.T, s *shop, r Rung) {
		s.redlock = append(s.redlock, deadVirtual(silent))
		a := s.instance(t, r)
		a.RedlockTimeout = 0 // as usual
		a.rebuild()
		start := time.Now()
		unlock(t, a.lock(t, "k", time.Minute))
		assert.Less(t, time.Since(start), time.Second, "the client's own timeout is 2 s, for each of the two")
	})
}

// Extend after expiry. The lease expired, and another owner has held the lock. A renewal that creates the
// key again would revive the first lease.
func TestExtendAfterExpiry(t *testing.T) {
	t.Parallel()
	revived := map[string]bool{"v5": false, "v5-as-printed": true, "v6": false}
	onRungs(t, slices.Sorted(maps.Keys(revived)), 3, func(t *testing.T, s *shop, r Rung) {
		gone := make(chan struct{})
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			if strings.HasPrefix(cmd.Name(), "eval") { // a renewal, after the other owner
				select {
				case <-gone:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return next(ctx)
		}))
		b := s.instance(t, r)
		lease := a.lock(t, "k", slowTTL)
		defer lease.Unlock(context.Background())
		s.remove(t, "k")
		require.True(t, b.tryOnce(t, "k"), "another comes and goes")
		close(gone)
		if revived[r.Number] {
			assert.Eventually(t, func() bool { return !b.tryOnce(t, "k") }, time.Minute, slowTTL/3)
			return
		}
		time.Sleep(2 * slowTTL) // a renewal is due in between
		assert.True(t, b.tryOnce(t, "k"))
	})
}

// Renewal against release. A renewal in flight during a release must not create the lock again, and
// no renewal may follow the release. Every second lease is released just when its renewal is due, or a moment later: at
// a half of its TTL on some rungs, at a third on others.
func TestRenewalAgainstRelease(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v5", "v6", "v7", "v8", "v11", "v12"}, 1, func(t *testing.T, s *shop, r Rung) {
		rounds := 1000
		if testing.Short() || !onRedisAlone(r) { // a rung with a database takes real time
			rounds = 200
		}
		a := s.instance(t, r)
		var renewals atomic.Int64
		a.OnRenew = func(bool) { renewals.Add(1) }
		a.rebuild()
		short := 10 * time.Millisecond
		for i := range rounds {
			ttl := time.Minute
			if i%2 == 0 {
				ttl = short
			}
			released := renewals.Load()
			lease := a.lockSoon(t, "k", ttl)
			if i%2 == 0 {
				time.Sleep(short/time.Duration(2+i/2%2) + time.Duration(i/4%2)*time.Millisecond)
				if renewals.Load() == 0 {
					short = min(2*short, time.Second) // so short a lease ends before it can be renewed here
				}
			} else {
				require.Equal(t, released, renewals.Load(), "a renewer outlived its lease")
			}
			_ = lease.Unlock(context.Background())
		}
		assert.Positive(t, renewals.Load())
		assert.True(t, a.tryOnce(t, "k"), "and the lock is free")
	})
}

// lockSoon takes the lock as soon as it is free. A busy node may carry a release out late, and if all sweeps are in
// use, the lock is free only when its TTL of a minute is over.
func (i *instance) lockSoon(t *testing.T, key string, ttl time.Duration) *Lease {
	t.Helper()
	attempt := func(ctx context.Context) (*Lease, error) { return i.tryLock(ctx, key, Options{TTL: ttl}) }
	lease, err := poll(context.Background(), 90*time.Second, constantDelay(time.Millisecond), attempt)
	require.NoError(t, err)
	return lease
}

// An indeterminate renewal. A renewal without an answer is neither a success nor a loss. It is retried, and
// once the server answers, the lease goes on.
func TestRenewerAndAmbiguity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var renewals int
		flaky := func(context.Context) (bool, error) {
			if renewals++; renewals%3 != 0 { // two time-outs for each success
				return false, os.ErrDeadlineExceeded
			}
			return true, nil
		}
		validUntil := time.Now().Add(time.Second)
		rt := newRuntime(Backends{})
		ctx, stop := rt.keepAlive(t.Context(), Options{TTL: time.Second}, time.Second/2, validUntil, flaky)
		time.Sleep(time.Minute)
		require.NoError(t, ctx.Err(), "the lease is alive a minute later")
		stop()
		n := renewals
		time.Sleep(time.Minute)
		assert.Equal(t, n, renewals, "and nothing renews it after the stop")
		assert.NotErrorIs(t, context.Cause(ctx), ErrLost)
	})
}

// On v5.5, v5.7 and v9 only the renewals that succeeded count. A server that does not answer for a while must not cost
// the work its time.
func TestAtMostCountsSuccesses(t *testing.T) {
	t.Parallel()
	var ok bool
	var err error
	renew := atMost(2, func(context.Context) (bool, error) { return ok, err })
	for range 3 {
		for failure, renewed := range map[error]bool{os.ErrDeadlineExceeded: false, ErrNoQuorum: true} {
			ok, err = renewed, failure // on v5.7 a lease on too few replicas was renewed
			_, got := renew(t.Context())
			require.ErrorIs(t, got, failure)
		}
	}
	ok, err = true, nil
	for range 2 {
		renewed, got := renew(t.Context())
		require.NoError(t, got)
		assert.True(t, renewed)
	}
	_, got := renew(t.Context())
	assert.ErrorIs(t, got, ErrExhausted)
}

// No renewal succeeds any more, because the server hangs or refuses. The lease ends at the start of the
// last successful renewal + TTL − drift at the latest.
func TestRenewalBlackout(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	hang := func(ctx context.Context) (bool, error) { <-ctx.Done(); return false, ctx.Err() }
	refuse := func(context.Context) (bool, error) { return false, errors.New("connection refused") }
	for name, failing := range map[string]func(context.Context) (bool, error){"hangs": hang, "refuses": refuse} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var last time.Time // the start of the last successful renewal
				renewals := 0
				renew := func(ctx context.Context) (bool, error) {
					if renewals++; renewals > 3 {
						return failing(ctx)
					}
					last = time.Now()
					time.Sleep(100 * time.Millisecond) // the reply takes a while: the lease does not count from it
					return true, nil
				}
				rt := newRuntime(Backends{})
				ctx, stop := rt.keepAlive(context.Background(), Options{TTL: lease}, lease/2, time.Now().Add(lease), renew)
				defer stop()
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), ErrLost)
				assert.Equal(t, last.Add(lease-drift(lease)), time.Now())
			})
		})
	}
}

// The lost wake-up. The release comes between a failed try and the wait after it. A waiter that polls is
// late by one delay at most, and tries once more when its max wait is over.
func TestLostWakeUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		free := false
		attempt := func(context.Context) (*Lease, error) {
			if free {
				return &Lease{}, nil
			}
			free = true // unlocked right after this try was refused
			return nil, ErrBusy
		}
		_, err := poll(context.Background(), 10*time.Second, constantDelay(time.Second), attempt)
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(start), "one delay")

		free, start = false, time.Now()
		_, err = poll(context.Background(), 300*time.Millisecond, constantDelay(time.Second), attempt)
		require.NoError(t, err)
		assert.Equal(t, 300*time.Millisecond, time.Since(start), "a last try when the max wait is over")
	})
}

// The TTL limits a wait by mistake, or several calls share its counters.
func TestWaitLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func(context.Context) (*Lease, error) { return nil, ErrBusy }
		delay := Backoff(2*time.Millisecond, 50*time.Millisecond, rand.N[time.Duration])
		var waiting sync.WaitGroup
		for _, maxWait := range []time.Duration{0, time.Second, time.Hour} {
			waiting.Go(func() {
				start := time.Now()
				_, err := poll(context.Background(), maxWait, delay, busy)
				assert.ErrorIs(t, err, ErrBusy)
				assert.Equal(t, maxWait, time.Since(start), "neither shorter, by the TTL or other calls, nor longer")
			})
		}
		waiting.Wait()
	})
}

// A wait ends with its context, and returns the cause.
func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(why) })
		busy := func(context.Context) (*Lease, error) { return nil, ErrBusy }
		_, err := poll(ctx, time.Hour, constantDelay(time.Minute), busy)
		assert.ErrorIs(t, err, why)
	})
}

// Constant tokens do not show the owner. v1 to v2 and v12-naive have them on purpose; from v3 on every
// other lease has its own.
func TestConstantTokens(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	constant := []string{"v0", "v0.5", "v1", "v1.5", "v2", "v12-naive", "v16", "v17"}
	for _, r := range newShop(t, backendtest.StartEmbedded, 1).rungs(t) {
		t.Run(r.Number, func(t *testing.T) {
			s := newShop(t, backendtest.StartEmbedded, 1)
			a := s.instance(t, r)
			seen := map[string]bool{}
			for range 100 {
				lease, err := a.try(context.Background(), "k", minute)
				require.NoError(t, err)
				if lease.Sold != nil {
					lease.Sold()
				}
				unlock(t, lease)
				seen[lease.Token] = true
			}
			if slices.Contains(constant, r.Number) {
				assert.Len(t, seen, 1)
			} else {
				assert.Len(t, seen, 100)
			}
		})
	}
}

// A TTL is sent in milliseconds. A time.Duration as an argument of a script would be sent in nanoseconds, and a lease
// of half a minute would last for almost a thousand years. Each renewal is sent when half of the TTL is over: one that
// is sent just before the end comes too late on a busy machine.
func TestRenewalSetsTTL(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v5", "v5-as-printed", "v6"}, 1, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r)
		lease := a.lock(t, "k", slowTTL)
		time.Sleep(slowTTL * 3 / 4)
		var left time.Duration
		for _, client := range s.bare() {
			left = max(left, client.PTTL(context.Background(), "k").Val())
		}
		assert.LessOrEqual(t, left, slowTTL)
		assert.GreaterOrEqual(t, left, slowTTL*3/4)
		if lease.Sold != nil {
			lease.Sold()
		}
		unlock(t, lease)
	})
}

// TestRoundTrips counts the round trips of an uncontended acquire and release on the connection. Each command of this
// client is one write, without pipelining.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	expected := map[string]int64{"v0": 0, "v0.5": 0, "v1": 2, "v1.5": 3, "v2": 2, "v3": 3, "v4": 2, "v4.5": 2, "v5": 2,
		"v5-as-printed": 2, "v5.5": 2, "v5.7": 2, "v6": 2, "v7": 2, "v7-cached": 2, "v8": 2, "v9": 2, "v9-naive": 2,
		"v9-nodes": 2, "v10": 2, "v11": 2, "v11-two": 2,
		"v12": 2, "v12-naive": 2, "v13": 2, "v14": 3, "v14-hasty": 3,
		"v15": 2, "v15-write-only": 2, "v16": 0, "v17": 0, "v18": 2, "v19": 2}
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		all := newShop(t, start, 1)
		for _, r := range all.rungs(t) {
			t.Run(r.Number, func(t *testing.T) {
				if _, known := expected[r.Number]; !known {
					t.Skip("a rung that stays has its round trips here")
				}
				if all.redis.Kind == backendtest.Embedded {
					onEmbedded(t, r.Number, 0, func(t *testing.T, s *shop, r Rung) {
						assert.Equal(t, expected[r.Number], roundTrips(t, s, r))
					})
					return
				}
				ask := func(time.Duration) int64 { return roundTrips(t, newShop(t, start, 0), r) }
				assert.Equal(t, expected[r.Number], askAgain(t, expected[r.Number], ask))
			})
		}
	})
}

func roundTrips(t *testing.T, s *shop, r Rung) int64 {
	t.Helper()
	var written atomic.Int64
	count := func(conn net.Conn) net.Conn { return countingConn{conn, &written} }
	client := clientOn(t, s.redis, count)
	database := backendtest.OpenSQL(t, s.sql)
	database.Around = func(ctx context.Context, statement, _ string, do sqldb.Do) (int64, error) {
		written.Add(1) // no round trip on SQLite, but one on a server
		return do(ctx)
	}
	life, end := context.WithCancel(t.Context())
	backends := Backends{Redis: client, Redlock: []redis.UniversalClient{client}, SQL: database,
		Commands: s.commands(), RedlockTimeout: nodeTimeout, Process: Process{Life: life, Background: new(sync.WaitGroup)}}
	defer func() {
		end()
		backends.Background.Wait()
	}()
	if slices.Contains(r.Needs, NeedZooKeeper) {
		backends.ZooKeeper = backendtest.StartZooKeeper(t).Session(t, backend.ZooKeeperOptions{
			Session: time.Minute, // so long that no ping is counted
			Dial: func(network, address string, _ time.Duration) (net.Conn, error) {
				conn, err := net.Dial(network, address)
				return count(conn), err
			},
		})
	}
	tryLock, _ := r.Build(backends)
	i := &instance{tryLock: tryLock}
	require.True(t, i.tryOnce(t, "k")) // connects, and loads the scripts
	before := written.Load()
	require.True(t, i.tryOnce(t, "k"))
	return written.Load() - before
}

type countingConn struct {
	net.Conn
	written *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.written.Add(1)
	return c.Conn.Write(p)
}
