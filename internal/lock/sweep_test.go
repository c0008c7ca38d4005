package lock

import (
	"context"
	"errors"
	"fmt"
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

	"stockapi/internal/backend/backendtest"
)

// own lists the rungs that undo an indeterminate acquire. Their owner token makes that safe.
var own = []string{"v5", "v5.5", "v5.7", "v6", "v7", "v8", "v9", "v9-nodes", "v10", "v11", "v12", "v15", "v18", "v19"}

func without(ids []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(one string) bool { return one == id })
}

// soon is the time limit for what must happen soon, even on a busy machine. What must not happen takes a minute.
const soon = 20 * time.Second

// later delays the next commands: the caller gets a timeout at once, and letGo carries the commands out.
type later struct {
	left  atomic.Int64 // how many commands to delay
	let   chan struct{}
	doing sync.WaitGroup
}

func newLater() *later { return &later{let: make(chan struct{})} }

func (l *later) hook(ctx context.Context, _ redis.Cmder, next send) error {
	if l.left.Add(-1) < 0 {
		return next(ctx)
	}
	l.doing.Go(func() {
		<-l.let
		_ = next(context.WithoutCancel(ctx))
	})
	return os.ErrDeadlineExceeded
}

// letGo carries the delayed commands out.
func (l *later) letGo() {
	close(l.let)
	l.doing.Wait()
}

// The acquire is carried out after the release that undoes it. The lock is free again long before its TTL is
// over.
func TestSweepLateAcquire(t *testing.T) {
	t.Parallel()
	onRungs(t, own, 1, func(t *testing.T, s *shop, r Rung) {
		late := newLater()
		a, b := s.instance(t, r, hook(late.hook)), s.instance(t, r)
		require.True(t, b.tryOnce(t, "k"), "the scripts are loaded, and the table exists")
		late.left.Store(1)
		_, err := a.tryLock(context.Background(), "k", minute)
		require.Error(t, err)
		late.letGo()
		assert.True(t, b.freeWithin(t, "k", soon))
	})
}

// So is that of a reader, which keeps writers out.
func TestSweepLateReader(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v10", 0, func(t *testing.T, s *shop, r Rung) {
		late := newLater()
		a, b := s.instance(t, r, hook(late.hook)), s.instance(t, r)
		read, _ := r.BuildRead(a.Backends)
		unlock(t, must(read(t.Context(), "k", minute))) // loads the scripts
		late.left.Store(1)
		_, err := read(t.Context(), "k", minute)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		late.letGo()
		assert.True(t, b.freeWithin(t, "k", soon))
	})
}

// If an attempt of v8 is executed after its waiter has given up, the waiter's place is in the queue again, without a
// waiter.
func TestSweepLatePlaceInQueue(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v8", 0, func(t *testing.T, s *shop, r Rung) {
		late := newLater()
		a, b := s.instance(t, r, hook(late.hook)), s.instance(t, r)
		defer b.lock(t, "k", time.Minute).Unlock(context.Background())
		ctx := context.WithValue(context.Background(), placeKey{}, "place")
		_, err := a.tryLock(ctx, "k", minute)
		require.ErrorIs(t, err, ErrBusy)
		leaveQueue(ctx, a.Redis, "k", "place")
		late.left.Store(1)
		_, err = a.tryLock(ctx, "k", minute)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		late.letGo()
		left := func() bool { return a.Redis.LLen(context.Background(), queueOf("k")).Val() == 0 }
		assert.Eventually(t, left, soon, 5*time.Millisecond)
	})
}

// A release that never arrives is sent again.
func TestSweepLostRelease(t *testing.T) {
	t.Parallel()
	onRungs(t, own, 1, func(t *testing.T, s *shop, r Rung) {
		var lose atomic.Int64
		a := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
			if lose.Add(-1) >= 0 {
				return os.ErrDeadlineExceeded
			}
			return next(ctx)
		}))
		lease := a.lock(t, "k", time.Minute)
		lose.Store(2) // also the first one of the sweep
		require.Error(t, lease.Unlock(context.Background()))
		assert.True(t, s.instance(t, r).freeWithin(t, "k", soon))
	})
}

// A sweep or a late release removes only its own lease, and not a later one of the same caller.
func TestSweepLeavesNextOrderAlone(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v7", "v8", "v12"}, 0, func(t *testing.T, s *shop, r Rung) {
		var lose, releases atomic.Int64
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
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
		_, err := a.tryLock(context.Background(), "k", minuteFor("7"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		lease := must(a.tryLock(context.Background(), "k", minuteFor("7")))
		require.Eventually(t, func() bool { return releases.Load() == int64(1+len(sweepGaps)) }, soon, 5*time.Millisecond)
		assert.False(t, s.instance(t, r).tryOnce(t, "k"), "the next order holds it")
		unlock(t, lease)
	})
}

func isRelease(cmd redis.Cmder) bool {
	return cmd.Name() == "sql:release" || runs(cmd, "release")
}

// runs reports whether a command runs a script whose name has that prefix.
func runs(cmd redis.Cmder, prefix string) bool {
	if len(cmd.Args()) < 2 {
		return false
	}
	script := fmt.Sprint(cmd.Args()[1])
	if cmd.Name() == "eval" { // v5.7 sends the source
		script = redis.NewScript(script).Hash()
	}
	return strings.HasPrefix(ScriptNames()[script], prefix)
}

// The number of sweeps is limited, they count as background work, and they end with the process.
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

// A command that was answered or never sent cannot come late, so there is no sweep that would make an outage worse.
func TestSweepSkipsWhatCannotCome(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(context.Background())
	b := newRuntime(Backends{Process: Process{Life: life}})
	asked := 0
	gone := func(context.Context) error { asked++; return ErrLost }
	address := strings.TrimPrefix(backendtest.StartEmbedded(t).URL, "redis://")
	refusedByRedis := redis.NewClient(&redis.Options{Addr: address})
	defer refusedByRedis.Close()
	word := refusedByRedis.Do(t.Context(), "no-such-command").Err()
	require.Error(t, word)
	b.undo(t.Context(), word, gone)
	assert.Equal(t, 1, asked, "a script may have done half of its work")
	b.undo(t.Context(), refusal("TRYAGAIN Multiple keys request during rehashing of slot"), gone)
	assert.Equal(t, 1, asked, "no part of it was carried out")
	nobody := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1, MaxRetries: -1})
	defer nobody.Close()
	b.undo(t.Context(), nobody.Ping(t.Context()).Err(), gone)
	assert.Equal(t, 1, asked)
	assert.Empty(t, b.sweeps)
	end()
	b.Background.Wait()
}

// A removal that a server puts off is repeated until it is answered.
func TestSweepRepeatsRefusedRemoval(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY",
		"NOREPLICAS", "MISCONF", "OOM", "BUSY", "ERR max number of clients"} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newRuntime(Backends{Process: Process{Life: t.Context(), Background: new(sync.WaitGroup)}})
				tries := 0
				b.sweep(func(context.Context) error {
					if tries++; tries <= 2*len(sweepGaps) {
						return fmt.Errorf("release: %w", refusal(code+" as Redis says it"))
					}
					return nil
				})
				b.Background.Wait()
				assert.Equal(t, 2*len(sweepGaps)+1, tries)
			})
		})
	}
}

// A refusal is an error reply of Redis.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestReleaseJoinsRenewalSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		b := newRuntime(Backends{})
		silent := func(context.Context) (bool, error) {
			<-answer
			return true, nil
		}
		_, stop := b.keepAlive(t.Context(), Options{TTL: time.Hour}, time.Minute, time.Now().Add(time.Hour), silent)
		time.Sleep(time.Minute + time.Second) // a renewal is under way
		start := time.Now()
		stop()
		assert.Equal(t, joinTime, time.Since(start))
		close(answer)
		b.Background.Wait()
	})
}

// The client limits a release, and its limit may be more than a second. The nodes of v6 have a timeout of their own.
func TestReleaseHasClientTimeout(t *testing.T) {
	t.Parallel()
	onRungs(t, without(own, "v6"), 1, func(t *testing.T, s *shop, r Rung) {
		var releasing atomic.Bool
		a := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
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
		assert.True(t, s.instance(t, r).tryOnce(t, "k"))
	})
}

// A key or a node that does not answer does not keep the other keys locked.
func TestReleaseOfSeveralDespiteSilentOne(t *testing.T) {
	t.Parallel()
	keys := []string{"k1", "k2", "k3"}
	onRungs(t, []string{"v9", "v9-naive", "v9-nodes"}, 3, func(t *testing.T, s *shop, r Rung) {
		for silent := range int64(3) {
			var sent atomic.Int64
			sent.Store(-100)
			answer := make(chan struct{})
			a := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
				if sent.Add(1) == silent+1 {
					<-answer
				}
				return next(ctx)
			}))
			var lease *Lease
			locked := func() (n int64) { return a.Redis.Exists(context.Background(), keys...).Val() }
			if r.Number == "v9-nodes" {
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
				lease = must(a.acquireAll(t, r.Number, 0, keys...))
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

// A lease that was granted too late is released: by the server's clock it has just begun. v5 does not look at the
// clock.
func TestGrantTooLateIsReleased(t *testing.T) {
	t.Parallel()
	const lease = 700 * time.Millisecond
	onRungs(t, without(own, "v5"), 1, func(t *testing.T, s *shop, r Rung) {
		var slow atomic.Bool
		late := hook(func(ctx context.Context, _ redis.Cmder, next send) error {
			if slow.CompareAndSwap(true, false) {
				time.Sleep(lease)
			}
			return next(context.WithoutCancel(ctx))
		})
		a, b := s.instance(t, r, late), s.instance(t, r)
		require.True(t, a.tryOnce(t, "k"))
		slow.Store(true)
		_, err := a.tryLock(context.Background(), "k", Options{TTL: lease})
		require.Error(t, err)
		if r.Number != "v6" && !errors.Is(err, ErrBusy) {
			require.NoError(t, err)
		}
		assert.True(t, b.tryOnce(t, "k"), "at once")
	})
}
