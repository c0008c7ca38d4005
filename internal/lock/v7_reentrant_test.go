package lock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

func awaitSubscriber(t *testing.T, bare redis.UniversalClient, channel string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return bare.PubSubNumSub(context.Background(), channel).Val()[channel] > 0
	}, 5*time.Second, 5*time.Millisecond)
}

func TestChannelsStayInSlot(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "redisson_lock__channel:{name}", channelOf("name"))
	assert.Equal(t, "redisson_lock__channel:name{tag}", channelOf("name{tag}"))
}

// Acquire and release at any depth. Only the outermost lease is renewed, and the last release ends it.
func TestCountAgainstRenewal(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v7", "v8"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			onEach(t, id, func(t *testing.T, a, b *instance, _ redis.UniversalClient) {
				assert.True(t, askAgain(t, true, func(longer time.Duration) bool {
					return staysHeldAtAnyDepth(t, rung(t, id), a, b, longer*slowTTL)
				}), "held still")
			})
		})
	}
}

func staysHeldAtAnyDepth(t *testing.T, r Rung, a, b *instance, ttl time.Duration) bool {
	t.Helper()
	var renewals atomic.Int64
	a.OnRenew = func(bool) { renewals.Add(1) }
	a.rebuild()
	ctx, key, o := context.Background(), "k:"+ttl.String(), Options{TTL: ttl, Owner: NewOwner("1")}
	outer := must(a.tryLock(ctx, key, o))
	for range 3 {
		inner := must(a.tryLock(ctx, key, o))
		unlock(t, inner)
	}
	time.Sleep(2 * ttl)
	assert.Positive(t, renewals.Load())
	assert.LessOrEqual(t, renewals.Load(), int64(8), "one renewer, at a third of the TTL")
	held := !b.tryOnce(t, key)
	_ = outer.Unlock(ctx)
	ended := renewals.Load()
	assert.True(t, b.tryOnce(t, key))
	time.Sleep(ttl)
	assert.Equal(t, ended, renewals.Load())
	return held
}

// A nested acquire whose reply is lost is undone, whether it was carried out or not. The count is as before,
// and the outer lease stays.
func TestNestedAcquireIsUndone(t *testing.T) {
	t.Parallel()
	for name, carriedOut := range map[string]bool{"carried out": true, "never arrived": false} {
		for _, id := range []string{"v7", "v8"} {
			t.Run(id+" "+name, func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 0)
				var lose atomic.Bool
				a := s.instance(t, rung(t, id), hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
					if !strings.HasPrefix(cmd.Name(), "eval") || !lose.CompareAndSwap(true, false) {
						return next(ctx)
					}
					if carriedOut {
						_ = next(ctx)
					}
					return context.DeadlineExceeded
				}))
				ctx, o := context.Background(), minuteFor("1")
				outer := must(a.tryLock(ctx, "k", o))
				lose.Store(true)
				_, err := a.tryLock(ctx, "k", o)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, "1", a.Redis.HGet(ctx, "k", outer.Token).Val())
				unlock(t, outer)
				assert.True(t, a.tryOnce(t, "k"))
			})
		}
	}
}

// A nested acquire shares the outer lease. Its shorter TTL does not shorten that lease, neither on acquire nor on
// release.
func TestNestedAcquireDoesNotShortenLease(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v7", "v8", "v12"} {
		t.Run(id, func(t *testing.T) {
			onEachShop(t, id, 0, func(t *testing.T, s *shop, r Rung) {
				a, b := s.instance(t, r), s.instance(t, r)
				ctx, o := context.Background(), minuteFor("1")
				outer := must(a.tryLock(ctx, "k", o))
				inner := must(a.tryLock(ctx, "k", Options{TTL: 500 * time.Millisecond, Owner: o.Owner}))
				time.Sleep(600 * time.Millisecond)
				assert.False(t, b.tryOnce(t, "k"))
				unlock(t, inner)
				time.Sleep(600 * time.Millisecond)
				assert.False(t, b.tryOnce(t, "k"))
				unlock(t, outer)
				assert.True(t, b.tryOnce(t, "k"))
			})
		})
	}
}

// A nested lease ends with the outer one, however long its own TTL.
func TestNestedLeaseEndsWithOuter(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v7", "v8", "v12"}, 0, func(t *testing.T, s *shop, r Rung) {
		a, o := s.instance(t, r), Options{TTL: slowTTL, Owner: NewOwner("1")}
		outer := must(a.tryLock(t.Context(), "k", o))
		inner := must(a.tryLock(outer.Context, "k", Options{TTL: time.Hour, Owner: o.Owner}))
		s.remove(t, "k")
		awaitLoss(t, inner, slowTTL+margin)
		require.ErrorIs(t, inner.Unlock(t.Context()), ErrLost)
		require.ErrorIs(t, outer.Unlock(t.Context()), ErrLost)
	})
}

// A nested acquire does not revive a lost lease: another owner may have held the lock in between.
func TestNestedAcquireDoesNotReviveLease(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v7", "v8", "v12"}, 0, func(t *testing.T, s *shop, r Rung) {
		a, b := s.instance(t, r), s.instance(t, r)
		ctx, o := context.Background(), minuteFor("1")
		outer := must(a.tryLock(ctx, "k", o))
		s.remove(t, "k")
		require.True(t, b.tryOnce(t, "k"), "another comes and goes")
		_, err := a.tryLock(ctx, "k", o)
		require.ErrorIs(t, err, ErrLost)
		require.ErrorIs(t, outer.Unlock(ctx), ErrLost)
		assert.True(t, b.tryOnce(t, "k"))
	})
}

// Undoing an acquire publishes its release, so that waiters that saw the lock do not wait for its TTL.
func TestUndoneAcquireWakesWaiters(t *testing.T) {
	t.Parallel()
	onEachShop(t, "v7", 0, func(t *testing.T, s *shop, r Rung) {
		b, bare := s.instance(t, r), backendtest.Client(t, s.redis)
		taken, answer := make(chan struct{}), make(chan struct{})
		var first sync.Once
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) (err error) {
			err = next(ctx)
			if !redis.HasErrorPrefix(err, "NOSCRIPT") {
				first.Do(func() {
					close(taken)
					<-answer
					err = context.DeadlineExceeded
				})
			}
			return err
		}))
		failed := make(chan error, 1)
		go func() {
			_, err := a.tryLock(context.Background(), "k", minute)
			failed <- err
		}()
		<-taken
		got := b.waitFor(context.Background(), "k", minute)
		awaitSubscriber(t, bare, channelOf("k"))
		messages := bare.Subscribe(context.Background(), channelOf("k"))
		defer func() { _ = messages.Close() }()
		_, err := messages.Receive(context.Background())
		require.NoError(t, err)
		close(answer)
		require.ErrorIs(t, <-failed, context.DeadlineExceeded)
		lease := <-got
		require.NotNil(t, lease)
		_, err = messages.ReceiveTimeout(context.Background(), soon)
		require.NoError(t, err, "a waiter also tries by itself, but is notified at once")
		unlock(t, lease)
	})
}

func must(l *Lease, err error) *Lease {
	if err != nil {
		panic(err)
	}
	return l
}
