package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// own are the rungs that undo an acquire without a clear outcome, since they have a token of their own to do it by.
var own = []string{"v5", "v5.5", "v6", "v7", "v8", "v9", "v9-nodes", "v10", "v11", "v12", "v15"}

// soon bounds what has to happen soon, on however busy a machine; what must not happen takes a minute.
const soon = 20 * time.Second

// later makes the next commands come late: the caller is told of a timeout, and they are carried out when they are let
// go.
type later struct {
	left  atomic.Int64 // how many
	let   chan struct{}
	doing sync.WaitGroup
}

func newLater() *later { return &later{let: make(chan struct{})} }

func (l *later) hook(ctx context.Context, _ redis.Cmder, next func(context.Context) error) error {
	if l.left.Add(-1) < 0 {
		return next(ctx)
	}
	l.doing.Go(func() {
		<-l.let
		_ = next(context.WithoutCancel(ctx))
	})
	return os.ErrDeadlineExceeded
}

// letGo lets them go, and waits until they have been carried out.
func (l *later) letGo() {
	close(l.let)
	l.doing.Wait()
}

// Pitfall 3 on every rung: the acquire is carried out after the release that undoes it. The lock is free again long
// before its TTL is over.
func TestALateAcquireIsSwept(t *testing.T) {
	t.Parallel()
	for _, id := range own {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, backendtest.StartEmbedded, 1)
			late := newLater()
			a, b := s.instance(t, rung(t, id), hook(late.hook)), s.instance(t, rung(t, id))
			require.True(t, b.tryOnce(t, "k"), "the scripts are loaded, the table is there")
			late.left.Store(1)
			_, err := a.tryLock(context.Background(), "k", time.Minute)
			require.Error(t, err)
			late.letGo()
			assert.True(t, b.freeWithin(t, "k", soon))
		})
	}
}

func TestALateReaderIsSwept(t *testing.T) {
	t.Parallel()
	s := newShop(t, backendtest.StartEmbedded, 0)
	late := newLater()
	a, b := s.instance(t, rung(t, "v10"), hook(late.hook)), s.instance(t, rung(t, "v10"))
	read, _ := rung(t, "v10").BuildRead(a.Backends)
	lease, err := read(context.Background(), "k", time.Minute)
	require.NoError(t, err)
	unlock(t, lease)
	late.left.Store(1)
	_, err = read(context.Background(), "k", time.Minute)
	require.Error(t, err)
	late.letGo()
	assert.True(t, b.freeWithin(t, "k", soon))
}

// A waiter of v8 whose attempt is carried out after it has given up is back in the queue, where nobody comes for it.
func TestALatePlaceInTheQueueIsSwept(t *testing.T) {
	t.Parallel()
	s := newShop(t, backendtest.StartEmbedded, 0)
	late := newLater()
	a, b := s.instance(t, rung(t, "v8"), hook(late.hook)), s.instance(t, rung(t, "v8"))
	defer b.lock(t, "k", time.Minute).Unlock(context.Background())
	ctx := context.WithValue(context.Background(), placeKey{}, "place")
	_, err := a.tryLock(ctx, "k", time.Minute)
	require.ErrorIs(t, err, ErrBusy)
	leaveQueue(ctx, a.Redis, "k", "place")
	late.left.Store(1)
	_, err = a.tryLock(ctx, "k", time.Minute)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	late.letGo()
	assert.Eventually(t, func() bool { return a.Redis.LLen(context.Background(), queueOf("k")).Val() == 0 }, soon, 5*time.Millisecond)
}

// A release that never arrives is sent again.
func TestALostReleaseIsSwept(t *testing.T) {
	t.Parallel()
	for _, id := range own {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, backendtest.StartEmbedded, 1)
			var lose atomic.Int64
			a := s.instance(t, rung(t, id), hook(func(ctx context.Context, _ redis.Cmder, next func(context.Context) error) error {
				if lose.Add(-1) >= 0 {
					return os.ErrDeadlineExceeded
				}
				return next(ctx)
			}))
			lease := a.lock(t, "k", time.Minute)
			lose.Store(2) // the sweep's first, too
			require.Error(t, lease.Unlock(context.Background()))
			assert.True(t, s.instance(t, rung(t, id)).freeWithin(t, "k", soon))
		})
	}
}

// The next order of a caller whose release was lost takes the lock and leaves it free, on the rungs that let a caller
// in again.
func TestALostReleaseLeavesNothingToTheNextOrder(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v7", "v12"} {
		t.Run(id, func(t *testing.T) {
			s := newShop(t, backendtest.StartEmbedded, 0)
			var lose sync.Map // by key
			a := s.instance(t, rung(t, id), hook(func(ctx context.Context, cmd redis.Cmder, next func(context.Context) error) error {
				if key, ok := ctx.Value(lostKey{}).(string); ok {
					if _, first := lose.LoadAndDelete(key); first {
						return os.ErrDeadlineExceeded
					}
				}
				return next(ctx)
			}))
			b := s.instance(t, rung(t, id))
			var callers sync.WaitGroup
			for i := range 40 {
				callers.Go(func() {
					key := fmt.Sprint("k", i)
					lease, err := a.tryLock(owned("7"), key, time.Minute)
					if !assert.NoError(t, err) {
						return
					}
					lose.Store(key, true)
					assert.Error(t, lease.Unlock(context.WithValue(context.Background(), lostKey{}, key)))
					lease, err = poll(owned("7"), soon, Fixed(5*time.Millisecond), func(ctx context.Context) (*Lease, error) {
						return a.tryLock(ctx, key, time.Minute)
					})
					if assert.NoError(t, err) {
						unlock(t, lease)
						assert.True(t, b.tryOnce(t, key), "it is free")
					}
				})
			}
			callers.Wait()
		})
	}
}

type lostKey struct{}

// A sweep, or a release that comes late, removes what it is for, and never what the same caller has taken since.
func TestASweepLeavesTheCallersNextOrderAlone(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v7", "v12"} {
		t.Run(id, func(t *testing.T) {
			s := newShop(t, backendtest.StartEmbedded, 0)
			var lose, releases atomic.Int64
			a := s.instance(t, rung(t, id), hook(func(ctx context.Context, cmd redis.Cmder, next func(context.Context) error) error {
				if lose.Add(-1) >= 0 {
					return os.ErrDeadlineExceeded
				}
				if isRelease(cmd) {
					releases.Add(1)
				}
				return next(ctx)
			}))
			require.True(t, a.tryOnce(t, "k"))
			releases.Store(0)
			lose.Store(1)
			_, err := a.tryLock(owned("7"), "k", time.Minute)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			lease := must(a.tryLock(owned("7"), "k", time.Minute))
			require.Eventually(t, func() bool { return releases.Load() == int64(1+len(sweepGaps)) }, soon, 5*time.Millisecond)
			assert.False(t, s.instance(t, rung(t, id)).tryOnce(t, "k"), "it is the next order's")
			unlock(t, lease)
		})
	}
}

func isRelease(cmd redis.Cmder) bool {
	return cmd.Name() == "sql:release" || len(cmd.Args()) > 1 && strings.HasPrefix(ScriptNames()[fmt.Sprint(cmd.Args()[1])], "release")
}

// A sweep is bounded, is counted, and ends with the process.
func TestSweepsAreBounded(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(context.Background())
	b := newRuntime(Backends{Process: Process{Life: life}})
	begun := make(chan struct{}, 10*maxSweeps)
	for range 10 * maxSweeps {
		b.sweep(func(ctx context.Context) error {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
	}
	<-begun
	end()
	b.Background.Wait()
	assert.LessOrEqual(t, len(begun), maxSweeps)
}

// What was answered, or never sent, comes no more: an outage is not made worse by sweeps.
func TestNothingIsSweptThatCannotCome(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(context.Background())
	b := newRuntime(Backends{Process: Process{Life: life}})
	asked := 0
	gone := func(context.Context) error { asked++; return ErrLost }
	refusedByRedis := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(backendtest.StartEmbedded(t).URL, "redis://")})
	defer refusedByRedis.Close()
	word := refusedByRedis.Do(t.Context(), "no-such-command").Err()
	require.Error(t, word)
	b.undo(t.Context(), word, gone)
	assert.Equal(t, 1, asked, "a script may have done half of its work")
	nobody := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1, MaxRetries: -1})
	defer nobody.Close()
	b.undo(t.Context(), nobody.Ping(t.Context()).Err(), gone)
	assert.Equal(t, 1, asked)
	assert.Empty(t, b.sweeps)
	end()
	b.Background.Wait()
}

// A renewal that is not answered does not keep a release waiting for as long as the client waits for the renewal.
func TestAReleaseDoesNotWaitForASilentRenewal(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v5.5", "v7", "v8", "v9", "v10", "v11", "v12", "v15"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, backendtest.StartEmbedded, 0)
			answer, begun := make(chan struct{}), make(chan struct{})
			var once sync.Once
			a := s.instance(t, rung(t, id), hook(func(ctx context.Context, cmd redis.Cmder, next func(context.Context) error) error {
				if cmd.Name() != "sql:renew" && (len(cmd.Args()) < 2 || !strings.HasPrefix(ScriptNames()[fmt.Sprint(cmd.Args()[1])], "renew")) {
					return next(ctx)
				}
				once.Do(func() { close(begun) })
				<-answer
				return os.ErrDeadlineExceeded
			}))
			lease := a.lock(t, "k", 5*time.Second)
			<-begun
			unlock(t, lease)
			assert.True(t, s.instance(t, rung(t, id)).tryOnce(t, "k"))
			close(answer)
		})
	}
}

func TestTheRenewingIsJoinedSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		b := newRuntime(Backends{})
		_, stop := b.keepAlive(t.Context(), time.Hour, time.Minute, time.Now().Add(time.Hour), func(context.Context) (bool, error) {
			<-answer
			return true, nil
		})
		time.Sleep(time.Minute + time.Second) // a renewal is under way
		start := time.Now()
		stop()
		assert.Equal(t, joinTime, time.Since(start))
		close(answer)
		b.Background.Wait()
	})
}

// A release has the time that the client gives it, which may be more than a second.
func TestAReleaseHasTheClientsTime(t *testing.T) {
	t.Parallel()
	for _, id := range own {
		if id == "v6" { // whose nodes get a time of their own
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, backendtest.StartEmbedded, 1)
			var releasing atomic.Bool
			a := s.instance(t, rung(t, id), hook(func(ctx context.Context, _ redis.Cmder, next func(context.Context) error) error {
				if releasing.Load() {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(1500 * time.Millisecond):
					}
				}
				return next(ctx)
			}))
			lease := a.lock(t, "k", time.Minute)
			releasing.Store(true)
			require.NoError(t, lease.Unlock(context.Background()))
			assert.True(t, s.instance(t, rung(t, id)).tryOnce(t, "k"))
		})
	}
}

// One key, or one node, that does not answer does not keep the others.
func TestOneSilentReleaseDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	keys := []string{"k1", "k2", "k3"}
	for _, id := range []string{"v9", "v9-naive", "v9-nodes"} {
		t.Run(id, func(t *testing.T) {
			s := newShop(t, backendtest.StartEmbedded, 3)
			for silent := range int64(3) {
				var sent atomic.Int64
				sent.Store(-100)
				answer := make(chan struct{})
				a := s.instance(t, rung(t, id), hook(func(ctx context.Context, _ redis.Cmder, next func(context.Context) error) error {
					if sent.Add(1) == silent+1 {
						<-answer
					}
					return next(ctx)
				}))
				var lease *Lease
				locked := func() (n int64) { return a.Redis.Exists(context.Background(), keys...).Val() }
				if id == "v9-nodes" {
					lease = a.lock(t, "k", time.Minute)
					locked = func() (n int64) {
						for _, node := range s.redlock {
							n += backendtest.Client(t, node).Exists(context.Background(), "k").Val()
						}
						return n
					}
				} else {
					bare := backendtest.Client(t, s.redis)
					locked = func() int64 { return bare.Exists(context.Background(), keys...).Val() }
					lease = must(a.acquireAll(t, id, 0, keys...))
				}
				require.EqualValues(t, 3, locked())
				sent.Store(0)
				done := make(chan error, 1)
				go func() { done <- lease.Unlock(context.Background()) }()
				assert.Eventually(t, func() bool { return locked() == 1 }, soon, 5*time.Millisecond)
				close(answer)
				require.NoError(t, <-done)
				assert.Zero(t, locked())
			}
		})
	}
}

// A grant that came too late is given back: by the server's clock it has just begun.
func TestALateGrantIsGivenBack(t *testing.T) {
	t.Parallel()
	const lease = 700 * time.Millisecond
	for _, id := range own {
		if id == "v5" { // which does not look
			continue
		}
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, backendtest.StartEmbedded, 1)
			var slow atomic.Bool
			late := hook(func(ctx context.Context, _ redis.Cmder, next func(context.Context) error) error {
				if slow.CompareAndSwap(true, false) {
					time.Sleep(lease)
				}
				return next(context.WithoutCancel(ctx))
			})
			a, b := s.instance(t, rung(t, id), late), s.instance(t, rung(t, id))
			require.True(t, a.tryOnce(t, "k"))
			slow.Store(true)
			_, err := a.tryLock(context.Background(), "k", lease)
			require.Error(t, err)
			if id != "v6" && !errors.Is(err, ErrBusy) {
				require.NoError(t, err)
			}
			assert.True(t, b.tryOnce(t, "k"), "at once")
		})
	}
}
