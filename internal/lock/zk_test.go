package lock

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

var zkRungs = []string{"v13", "v14"}

// onZooKeeper runs a test for both rungs.
func onZooKeeper(t *testing.T, test func(t *testing.T, s *shop, r Rung)) {
	t.Helper()
	backendtest.RequireZooKeeper(t)
	s := newShop(t, backendtest.StartEmbedded, 0)
	for _, id := range zkRungs {
		t.Run(id, func(t *testing.T) { test(t, s, rung(t, id)) })
	}
}

// locks counts the nodes of a lock on both rungs. v13 has a second node beside the lock, which does not count.
func (i *instance) locks(t *testing.T, key string) (n int) {
	t.Helper()
	for _, root := range []string{ephemeralIn, sequentialIn} {
		names, _ := i.ZooKeeper.Children(context.Background(), zkNodes{newRuntime(i.Backends), root}.of(key))
		for _, name := range names {
			if name == "lock" || strings.Contains(name, "-lock-") {
				n++
			}
		}
	}
	return n
}

// The create succeeds, and its reply is lost. The node is found by its own name, and no order queues
// behind itself.
func TestOwnNodeIsRecognised(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		b := s.instance(t, r)
		require.True(t, b.tryOnce(t, key(t)), "the directory exists")
		var lost atomic.Bool
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			err := next(ctx)
			if cmd.Name() == "zk:create" && lost.CompareAndSwap(false, true) {
				return os.ErrDeadlineExceeded
			}
			return err
		}))
		lease := a.lock(t, key(t), ttl)
		assert.True(t, lost.Load())
		assert.Positive(t, lease.Fence)
		assert.Equal(t, 1, a.locks(t, key(t)))
		unlock(t, lease)
		assert.Zero(t, a.locks(t, key(t)))
	})
}

// A node that another session created is not ours, even with our name: it may end at any moment.
func TestNodeOfAnotherSession(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s := newShop(t, backendtest.StartEmbedded, 0)
	a, b := s.instance(t, rung(t, "v13")), s.instance(t, rung(t, "v13"))
	lease := a.lock(t, "k", ttl)
	own := zkNodes{newRuntime(a.Backends), ephemeralIn}.of("k") + "/" + lease.Token
	_, ours, err := zkNodes{newRuntime(a.Backends), ephemeralIn}.findOwned(context.Background(), own)
	require.NoError(t, err)
	assert.True(t, ours)
	_, ours, err = zkNodes{newRuntime(b.Backends), ephemeralIn}.findOwned(context.Background(), own)
	require.NoError(t, err)
	assert.False(t, ours)
	unlock(t, lease)
}

// Sequence numbers have 32 bits and a sign. The lowest number follows the highest one.
func TestSequenceOverflows(t *testing.T) {
	t.Parallel()
	const high, low = "_c_A-lock-2147483647", "_c_B-lock--2147483648"
	names := []string{low, "_c_C-lock--2147483647", high, "_c_D-lock-2147483646", "lock", "stranger"}
	for own, expected := range map[string]string{
		"_c_D-lock-2147483646": "", high: "_c_D-lock-2147483646", low: high, "_c_C-lock--2147483647": low,
	} {
		before, queued := predecessor(names, own)
		assert.True(t, queued)
		assert.Equal(t, expected, before, own)
	}
	_, queued := predecessor(names, "_c_E-lock-0000000007")
	assert.False(t, queued, "it is not in the queue")
}

// The node before ours is the nearest one, by its number. Its name begins with a random token, and does not count.
func TestZooKeeperPredecessorIsNearest(t *testing.T) {
	t.Parallel()
	const a, b, c, d = "_c_Z-lock-0000000003", "_c_B-lock-0000000007", "_c_M-lock-0000000009", "_c_A-lock-0000000012"
	for _, names := range [][]string{{a, b, c, d}, {d, c, b, a}, {b, c, d, a}} {
		for own, expected := range map[string]string{a: "", b: a, c: b, d: c} {
			before, queued := predecessor(names, own)
			assert.True(t, queued)
			assert.Equal(t, expected, before, "%s in %v", own, names)
		}
	}
}

// Every node with a number from ZooKeeper is in the queue, also another program's. A sign is distinguished from a dash.
func TestZooKeeperSequenceOfForeignNodes(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]int32{
		"_c_A-lock-0000000012": 12, "_c_2f0e1c7e-6d5f-4b7e-8b0e-0c1d2e3f4a5b-lock-2147483647": 2147483647,
		"lock-0000000003": 3, "_c_A-lock--2147483648": -2147483648, "_c_A-lock--000000005": -5,
		"0123456789abcdef0123456789abcdef__lock__0000000004":  4,
		"0123456789abcdef0123456789abcdef__rlock__0000000005": 5,
		"a__lock__-2147483648":                                -2147483648, "a__lock__-000000007": -7,
		"_c_A__WRIT__0000000006": 6, "n_0000000008": 8, "n1-0000000009": 9, "0000000010": 10,
		"n-2147483646": 2147483646,
	} {
		n, queued := sequence(name)
		assert.True(t, queued, name)
		assert.Equal(t, number, n, name)
	}
	for _, name := range []string{"", "lock", "lease-1", "stranger", "n-9999999999", "_c_A-lock-", "_c_A-lock-12"} {
		_, queued := sequence(name)
		assert.False(t, queued, name)
	}
	const own = "_c_A-lock-0000000012"
	before, queued := predecessor([]string{own, "0123__lock__0000000011", "lock-0000000010"}, own)
	assert.True(t, queued)
	assert.Equal(t, "0123__lock__0000000011", before)
}

// An attempt whose session ends is repeated twice, in a new session, and not for ever.
func TestZooKeeperSessionEndsInMidAttempt(t *testing.T) {
	t.Parallel()
	brokenPipe := &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE} // the library's write failed
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		for _, ended := range []error{zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrSessionMoved, brokenPipe} {
			failures := 2
			a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
				if cmd.Name() != "zk:create" || failures == 0 {
					return next(ctx)
				}
				failures--
				return ended
			}))
			unlock(t, a.lock(t, key(t), ttl))
			assert.Zero(t, failures, ended)
			failures = 3
			_, err := a.acquire(context.Background(), key(t), time.Minute, minute)
			require.ErrorIs(t, err, ended)
			assert.Zero(t, failures, ended)
		}
	})
}

// A waiter whose session ends when it is its turn tries again. Its wait goes on.
func TestZooKeeperSessionEndsInWait(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s, r := newShop(t, backendtest.StartEmbedded, 0), rung(t, "v14")
	var end atomic.Bool
	watching := make(chan struct{}, 100)
	a, b := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
		if cmd.Name() == "zk:check" && end.CompareAndSwap(true, false) {
			return zk.ErrSessionExpired
		}
		err := next(ctx)
		if cmd.Name() == "zk:watch" {
			watching <- struct{}{}
		}
		return err
	})), s.instance(t, r)
	lease := b.lock(t, key(t), time.Minute)
	got := a.waitFor(t.Context(), key(t), minute)
	<-watching // so its next attempt begins with a check
	end.Store(true)
	unlock(t, lease)
	unlock(t, has(t, got))
	assert.False(t, end.Load())
}

// A wait that was cancelled leaves no node.
func TestCancelledWaitLeavesNoNode(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s, r := newShop(t, backendtest.StartEmbedded, 0), rung(t, "v14")
	a, b := s.instance(t, r), s.instance(t, r)
	b.lock(t, key(t), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	got := a.waitFor(ctx, key(t), minute)
	require.Eventually(t, func() bool { return b.locks(t, key(t)) == 2 }, margin, time.Millisecond)
	cancel()
	assert.Nil(t, <-got)
	assert.Equal(t, 1, b.locks(t, key(t)))
}

// A create that was under way when its connection broke is carried out after its client has looked for it.
// The node is swept although the first look did not find it. The lock is free again, and no order queues behind itself.
func TestNodeCreatedAfterLook(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		b := s.instance(t, r)
		require.True(t, b.tryOnce(t, key(t)), "the directory exists")
		var late func() error
		var synced, lookedBefore, swept atomic.Bool
		looked := make(chan struct{})
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			switch cmd.Name() {
			case "zk:create":
				if late == nil {
					late = func() error { return next(context.WithoutCancel(ctx)) }
					return os.ErrDeadlineExceeded
				}
			case "zk:sync":
				synced.Store(true)
			case "zk:children", "zk:exists", "zk:delete":
				assert.True(t, synced.Load(), "it reads from a server that may be behind")
				err := next(ctx)
				// The client's own look is the first. The second is the sweep's, which also finds nothing.
				sweeps := lookedBefore.Swap(true)
				if sweeps && swept.CompareAndSwap(false, true) {
					close(looked)
				}
				return err
			}
			return next(ctx)
		}))
		_, err := a.tryLock(context.Background(), key(t), Options{TTL: ttl})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		<-looked
		require.NoError(t, late())
		require.True(t, b.freeWithin(t, key(t), 2*zkSession+margin), "the node stayed")
		assert.True(t, a.tryOnce(t, key(t)))
	})
}

// The create, the look-up and the first removals get no answer. The node is removed as soon as the server
// answers, although its session lives on.
func TestNodeIsSweptLater(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		b := s.instance(t, r)
		require.True(t, b.tryOnce(t, key(t)), "the directory exists")
		var created atomic.Bool
		var unanswered atomic.Int64
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			if cmd.Name() == "zk:create" {
				created.Store(next(ctx) == nil)
				return os.ErrDeadlineExceeded
			}
			if unanswered.Add(1) <= 4 {
				return os.ErrDeadlineExceeded
			}
			return next(ctx)
		}))
		_, err := a.tryLock(context.Background(), key(t), Options{TTL: ttl})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.True(t, created.Load())
		assert.True(t, b.freeWithin(t, key(t), margin))
	})
}

// A sweep for a node that is never created ends.
func TestZooKeeperSweepOfNothingEnds(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			if cmd.Name() == "zk:create" {
				return os.ErrDeadlineExceeded
			}
			return next(ctx)
		}))
		_, err := a.tryLock(context.Background(), key(t), Options{TTL: ttl})
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		a.Background.Wait()
	})
}

// Waits that fail share one watch of a node, which stays until the node changes: the library cannot take a watch back.
func TestZooKeeperWaitsShareOneWatch(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		b := s.instance(t, r)
		a := s.instance(t, r)
		const waits = 200
		for round := range int64(3) {
			lease := b.lock(t, key(t), time.Minute)
			inVain := func(maxWait time.Duration) {
				_, err := a.acquire(context.Background(), key(t), maxWait, minute)
				require.ErrorIs(t, err, ErrBusy)
			}
			for a.link.reads.Load() == round { // a busy machine may need longer until it sets the watch
				inVain(100 * time.Millisecond)
			}
			for range waits {
				inVain(time.Millisecond)
			}
			assert.Equal(t, round+1, a.link.reads.Load(), "watches, one a round, after %d waits in each", waits)
			unlock(t, lease)
			require.True(t, a.freeWithin(t, key(t), margin))
		}
	})
}

// A holder that loses its connection counts its lease as lost before the server ends the session. After it has
// connected again, it goes on in a new session.
func TestZooKeeperSessionLossCancelsLease(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		lease := a.lock(t, key(t), time.Minute)
		first := a.ZooKeeper.SessionID()
		a.link.cut()
		awaitLoss(t, lease, zkSession+margin)
		assert.Equal(t, 1, b.locks(t, key(t)), "and the server still has its lock")
		require.True(t, b.freeWithin(t, key(t), zkSession+margin))

		a.link.heal()
		connected := func() bool { return a.ZooKeeper.Ping(context.Background()) == nil }
		require.Eventually(t, connected, 5*time.Second, time.Millisecond)
		assert.ErrorIs(t, lease.Unlock(context.Background()), ErrLost)
		assert.True(t, a.tryOnce(t, key(t)))
		assert.NotEqual(t, first, a.ZooKeeper.SessionID())
	})
}

// A check that gets no answer is no loss: a connection may break for less than the session's timeout.
func TestZooKeeperLeaseOutlivesFailedCheck(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		var fail atomic.Bool
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			if cmd.Name() == "zk:check" && fail.CompareAndSwap(true, false) {
				return zk.ErrConnectionClosed
			}
			return next(ctx)
		}))
		assert.True(t, askAgain(t, true, func(time.Duration) bool {
			lease := a.lock(t, key(t), ttl)
			fail.Store(true)
			time.Sleep(zkSession)
			alive := lease.Context.Err() == nil && !fail.Load()
			return lease.Unlock(t.Context()) == nil && alive
		}))
	})
}

// A session has no TTL that an order could leave unrenewed. The lease lasts, and is still checked.
func TestZooKeeperUnrenewedLeaseLasts(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r)
		unrenewed := Options{TTL: time.Millisecond, NoRenew: true}
		attempt := func(ctx context.Context) (*Lease, error) { return a.tryLock(ctx, key(t), unrenewed) }
		assert.True(t, askAgain(t, true, func(time.Duration) bool {
			lease, err := poll(t.Context(), zkSession+margin, constantDelay(50*time.Millisecond), attempt)
			require.NoError(t, err)
			time.Sleep(2 * zkSession)
			alive := lease.Context.Err() == nil
			return lease.Unlock(t.Context()) == nil && alive
		}))
	})
}

// The server limits a session's timeout, and a holder must use the timeout that it was granted.
func TestZooKeeperSessionIsAsGranted(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s := backendtest.StartZooKeeper(t)
	for asked, granted := range map[time.Duration]time.Duration{
		time.Hour: time.Minute, 10 * time.Second: 10 * time.Second, backendtest.Tick: backendtest.Tick,
	} {
		z := s.Session(t, backend.ZooKeeperOptions{Session: asked})
		require.NoError(t, z.Ping(context.Background()))
		assert.Equal(t, granted, z.Session(), "asked for %v", asked)
	}
}

// Fencing tokens grow from lease to lease over both rungs, even if the queue was removed in between.
func TestZooKeeperFencesGrow(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s := newShop(t, backendtest.StartEmbedded, 0)
	var fences []int64
	for _, id := range []string{"v13", "v14", "v14", "v13", "v14"} {
		a := s.instance(t, rung(t, id))
		lease := a.lock(t, "k", ttl)
		fences = append(fences, lease.Fence)
		unlock(t, lease)
		_ = a.ZooKeeper.Delete(context.Background(), zkNodes{newRuntime(a.Backends), sequentialIn}.of("k"))
	}
	assert.True(t, slices.IsSorted(fences), fences)
	assert.Len(t, slices.Compact(fences), 5, "each is new")
}

// The release comes between the failed try and the watch. There is no node to watch any more, so the
// waiter tries again at once.
func TestLostWakeUpOnZooKeeper(t *testing.T) {
	t.Parallel()
	onZooKeeper(t, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		lease := a.lock(t, key(t), time.Minute)
		begun, tries := time.Now(), 0
		second, err := b.wait(context.Background(), key(t), time.Minute, func(ctx context.Context) (*Lease, error) {
			second, err := b.tryLock(ctx, key(t), minute)
			if tries++; tries == 1 {
				assert.ErrorIs(t, err, ErrBusy)
				unlock(t, lease)
			}
			return second, err
		})
		require.NoError(t, err)
		assert.Less(t, time.Since(begun), zkSession/2)
		unlock(t, second)
	})
}

// On v14-hasty the end of the wait gives the lock, not that of a session, which limits each watch of v14. An order that
// does not wait is refused.
func TestHastyWaitsToItsEnd(t *testing.T) {
	t.Parallel()
	backendtest.RequireZooKeeper(t)
	s, r := newShop(t, backendtest.StartEmbedded, 0), rung(t, "v14-hasty")
	a, b := s.instance(t, r), s.instance(t, r)
	assert.True(t, askAgain(t, true, func(time.Duration) bool { // a busy machine may lose a session that short
		first := a.lock(t, key(t), time.Minute)
		_, err := b.tryLock(t.Context(), key(t), minute)
		begun := time.Now()
		second := must(b.acquire(t.Context(), key(t), 2*zkSession, minute))
		waited := time.Since(begun)
		_, _ = first.Unlock(t.Context()), second.Unlock(t.Context())
		return errors.Is(err, ErrBusy) && waited >= 2*zkSession
	}))
}

// A ZooKeeper that is silent or unreachable costs its timeout, and leaves nothing running.
func TestZooKeeperAway(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	silent := strings.TrimPrefix(deadNode(t, silent).URL, "redis://")
	for name, address := range map[string]string{
		"silent": silent, "refusing": "127.0.0.1:1", "unknown": "nowhere.invalid:2181",
	} {
		for _, id := range zkRungs {
			t.Run(name+"/"+id, func(t *testing.T) {
				options := backend.ZooKeeperOptions{Session: time.Second, Timeout: 100 * time.Millisecond}
				z, err := backend.OpenZooKeeper(address, options)
				require.NoError(t, err)
				defer z.Close()
				require.ErrorIs(t, z.Ping(context.Background()), backend.ErrZooKeeperAway)
				begun := time.Now()
				i := &instance{Backends: Backends{ZooKeeper: z}, rung: rung(t, id)}
				i.rebuild()
				_, err = i.acquire(context.Background(), "k", time.Minute, minute)
				require.ErrorIs(t, err, backend.ErrZooKeeperAway)
				assert.Less(t, time.Since(begun), 10*time.Second, "and not the wait, a minute")
			})
		}
	}
}
