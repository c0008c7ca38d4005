package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// inTurns runs a test of v18 and v19.
func inTurns(t *testing.T, test func(t *testing.T, a, b *instance, bare redis.UniversalClient, sent func() []string)) {
	t.Helper()
	t.Parallel()
	for _, id := range []string{"v18", "v19"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			withTwo(t, id, test)
		})
	}
}

// withTwo runs a test of a rung in virtual time, with two instances and a client for plain commands. The function sent
// returns the commands of the first instance.
func withTwo(
	t *testing.T, id string, test func(t *testing.T, a, b *instance, bare redis.UniversalClient, sent func() []string),
) {
	t.Helper()
	onEmbedded(t, id, 0, func(t *testing.T, s *shop, r Rung) {
		var mu sync.Mutex
		var names []string
		sent := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(names)
		}
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			mu.Lock()
			names = append(names, nameOf(cmd))
			mu.Unlock()
			return next(ctx)
		}))
		test(t, a, s.instance(t, r), backendtest.Client(t, s.redis), sent)
	})
}

func nameOf(cmd redis.Cmder) string {
	if args := cmd.Args(); len(args) > 1 {
		if digest, ok := args[1].(string); ok && ScriptNames()[digest] != "" {
			return ScriptNames()[digest]
		}
	}
	return cmd.Name()
}

// waitsWith returns the lease of an order with that max wait.
func (i *instance) waitsWith(ctx context.Context, key string, wait time.Duration, o Options) <-chan *Lease {
	got := i.startWaiting(ctx, key, wait, o)
	synctest.Wait()
	return got
}

// The orders of an instance hold the lock in order of arrival, by one acquire and one release.
func TestHandoffInOrder(t *testing.T) {
	t.Parallel()
	withTwo(t, "v18", func(t *testing.T, a, _ *instance, bare redis.UniversalClient, sent func() []string) {
		const orders = 20
		require.True(t, a.tryOnce(t, "k")) // loads the scripts
		first := a.lock(t, "k", time.Minute)
		var waiting []<-chan *Lease
		for range orders {
			waiting = append(waiting, a.waitsWith(t.Context(), "k", time.Minute, minute))
		}
		before := len(sent())
		fence := first.Fence
		unlock(t, first)
		for i, one := range waiting {
			lease := has(t, one)
			assert.Equal(t, first.Token, lease.Token)
			assert.Equal(t, fence+1, lease.Fence, "each holder has a fencing token of its own")
			fence = lease.Fence
			synctest.Wait()
			for _, other := range waiting[i+1:] {
				require.Empty(t, other, "one at a time")
			}
			unlock(t, lease)
		}
		assert.Equal(t, []string{"release-handoff"}, sent()[before:])
		next := a.lock(t, "k", time.Minute)
		assert.Greater(t, next.Fence, fence+maxPasses-orders, "the tokens that no holder had are never drawn again")
		unlock(t, next)
		assert.Zero(t, bare.Exists(t.Context(), "k", queueOf("k"), deadlinesOf("k")).Val(), "nothing is left")
	})
}

// An instance gets its turn although orders of another one never cease to arrive.
func TestHandoffInstancesTakeTurns(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, _ redis.UniversalClient, _ func() []string) {
		lease := a.lock(t, "k", time.Minute)
		other := b.waitsWith(t.Context(), "k", time.Minute, minute)
		for range maxPasses {
			next := a.waitsWith(t.Context(), "k", time.Minute, minute)
			require.Empty(t, other)
			unlock(t, lease)
			lease = has(t, next)
		}
		again := a.waitsWith(t.Context(), "k", time.Minute, minute)
		unlock(t, lease)
		fence := lease.Fence
		lease = has(t, other)
		require.Greater(t, lease.Fence, fence)
		synctest.Wait()
		require.Empty(t, again, "it is the other instance's turn")
		unlock(t, lease)
		unlock(t, has(t, again))
	})
}

// A turn also ends after a time, even with few holders.
func TestHandoffTurnEndsInTime(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, _ redis.UniversalClient, _ func() []string) {
		lease := a.lock(t, "k", time.Minute)
		other := b.waitsWith(t.Context(), "k", time.Minute, minute)
		next := a.waitsWith(t.Context(), "k", time.Minute, minute)
		time.Sleep(turnTime + time.Millisecond)
		unlock(t, lease)
		unlock(t, has(t, other))
		unlock(t, has(t, next))
	})
}

// A lease is renewed for as long as it is passed on.
func TestHandoffRenewsLease(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, _ redis.UniversalClient, _ func() []string) {
		lease := a.lock(t, "k", time.Second)
		next := a.waitsWith(t.Context(), "k", time.Minute, Options{TTL: time.Second})
		time.Sleep(turnTime / 2)
		unlock(t, lease)
		lease = has(t, next)
		time.Sleep(10 * time.Second)
		require.NoError(t, lease.Context.Err())
		require.False(t, b.tryOnce(t, "k"))
		unlock(t, lease)
		require.True(t, b.tryOnce(t, "k"))
	})
}

// A lost lease ends the work of its holder. The others do not wait for that holder, and the next lease is a new one.
func TestHandoffLostLeaseEndsTurn(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, bare redis.UniversalClient, _ func() []string) {
		lease := a.lock(t, "k", time.Second)
		next := a.waitsWith(t.Context(), "k", time.Minute, Options{TTL: time.Second})
		require.NoError(t, bare.Del(t.Context(), "k").Err())
		awaitLoss(t, lease, time.Minute)
		fresh := has(t, next)
		assert.NotEqual(t, lease.Token, fresh.Token)
		assert.Greater(t, fresh.Fence, lease.Fence)
		require.ErrorIs(t, lease.Unlock(t.Context()), ErrLost)
		require.NoError(t, fresh.Context.Err())
		require.False(t, b.tryOnce(t, "k"), "the release of the lost lease removed nothing")
		unlock(t, fresh)
	})
}

// A line has three orders of one process. The first of them has released a lease, which was passed to the second one.
type line struct {
	*cohorts
	first, second, third *member
	lease                *passedLease
	released             int // times
}

// newLine returns a line in which that many may share a lease.
func newLine(t *testing.T, most int) *line {
	t.Helper()
	l := &line{cohorts: newCohorts(newRuntime(Backends{}), most),
		first: newMember(), second: newMember(), third: newMember()}
	l.lease = &passedLease{work: newLeaseContext(context.Background(), time.Now().Add(time.Hour)), token: "t", fence: 1,
		wanted: Options{TTL: time.Second}, release: func(context.Context) error {
			l.released++
			return nil
		}}
	lease, err := l.try(t, l.first)
	require.NoError(t, err)
	require.Nil(t, lease, "it asks Redis")
	lease = l.acquired(l.first.within(t.Context(), "place"), "k", l.lease)
	for _, m := range []*member{l.second, l.third} {
		_, err := l.try(t, m)
		require.ErrorIs(t, err, ErrBusy)
	}
	require.NoError(t, lease.Unlock(t.Context()))
	require.Zero(t, l.released, "it was passed on")
	return l
}

func (l *line) try(t *testing.T, m *member) (*Lease, error) {
	t.Helper()
	return l.enter(m.within(t.Context(), "place"), "k", Options{TTL: time.Second})
}

// An order to which a lost lease was passed begins again, before those behind it.
func TestHandoffLeaseLostOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1)
		l.lease.work.lose(ErrLost)
		synctest.Wait()
		_, err := l.try(t, l.third)
		require.ErrorIs(t, err, ErrBusy)
		lease, err := l.try(t, l.second)
		require.NoError(t, err)
		require.Nil(t, lease, "it asks Redis")
		assert.Zero(t, l.released)
	})
}

// A lease that was passed to an order that gives up goes to the one behind it, and is released at the end.
func TestHandoffToOrderThatGivesUp(t *testing.T) {
	t.Parallel()
	l := newLine(t, 1)
	l.second.leave(t.Context())
	lease, err := l.try(t, l.third)
	require.NoError(t, err)
	require.NotNil(t, lease)
	require.NoError(t, lease.Unlock(t.Context()))
	assert.Equal(t, 1, l.released)
	assert.Empty(t, l.byKey, "nothing is left")
}

// An order that gives up does not move the others.
func TestHandoffWaiterGivesUp(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, bare redis.UniversalClient, sent func() []string) {
		held := b.lock(t, "k", time.Minute)
		first := a.waitsWith(t.Context(), "k", time.Second, minute)
		second := a.waitsWith(t.Context(), "k", 2*time.Second, minute)
		third := a.waitsWith(t.Context(), "k", time.Minute, minute)
		require.EqualValues(t, 1, bare.LLen(t.Context(), queueOf("k")).Val(), "one place for an instance")
		require.Nil(t, get(t, first))
		require.Nil(t, get(t, second))
		require.EqualValues(t, 1, bare.LLen(t.Context(), queueOf("k")).Val(), "the place is of use to the third")
		require.NotContains(t, sent(), "leave-fair", "and it is still the same")
		unlock(t, held)
		unlock(t, has(t, third))

		held = b.lock(t, "k", time.Minute)
		require.Nil(t, get(t, a.waitsWith(t.Context(), "k", time.Second, minute)))
		require.Zero(t, bare.Exists(t.Context(), queueOf("k"), deadlinesOf("k")).Val(), "the last one gives the place up")
		unlock(t, held)
	})
}

// A lease is not passed to an order that wants another TTL, or one that is not renewed.
func TestHandoffOnlyForSameOptions(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, _ redis.UniversalClient, _ func() []string) {
		held := a.lock(t, "k", time.Minute)
		short := a.waitsWith(t.Context(), "k", time.Minute, Options{TTL: time.Second})
		unrenewed := a.waitsWith(t.Context(), "k", time.Minute, Options{TTL: time.Second, NoRenew: true})
		last := a.waitsWith(t.Context(), "k", time.Minute, Options{TTL: time.Second})
		unlock(t, held)
		one := has(t, short)
		require.NotEqual(t, held.Token, one.Token)
		unlock(t, one)
		two := has(t, unrenewed)
		require.NotEqual(t, one.Token, two.Token)
		awaitLoss(t, two, time.Minute)
		three := has(t, last)
		require.NotEqual(t, two.Token, three.Token)
		require.ErrorIs(t, two.Unlock(t.Context()), ErrLost)
		unlock(t, three)
		require.True(t, b.tryOnce(t, "k"))
	})
}

// A crash costs the others a TTL at most, even if many orders of the dead instance waited.
func TestHandoffDeadInstanceCostsTTL(t *testing.T) {
	inTurns(t, func(t *testing.T, a, b *instance, _ redis.UniversalClient, _ func() []string) {
		held := b.lock(t, "k", time.Minute)
		ctx, leave := context.WithCancel(t.Context())
		var dead []<-chan *Lease
		for range 5 {
			dead = append(dead, a.waitsWith(ctx, "k", time.Minute, Options{TTL: time.Second}))
		}
		next := b.waitsWith(t.Context(), "k", time.Minute, Options{TTL: time.Second})
		a.crash()
		require.NoError(t, a.Redis.Close())
		time.Sleep(turnTime * 2)
		begun := time.Now()
		unlock(t, held)
		unlock(t, has(t, next))
		assert.LessOrEqual(t, time.Since(begun), placeTTL+heartbeat)
		leave()
		for _, one := range dead {
			assert.Nil(t, get(t, one))
		}
	})
}

// An attempt that fails lets the next member try, and a member that fails leaves nothing behind.
func TestHandoffFailedAttemptLetsNextTry(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v18", 0, func(t *testing.T, s *shop, r Rung) { // v19 does the same
		down := errors.New("down")
		fails := 0
		a := s.instance(t, r, hook(func(ctx context.Context, cmd redis.Cmder, next send) error {
			if fails > 0 && nameOf(cmd) == "acquire-handoff" {
				fails--
				return down
			}
			return next(ctx)
		}))
		b := s.instance(t, r)
		held := b.lock(t, "k", time.Minute)
		first := a.waitsWith(t.Context(), "k", time.Minute, minute)
		second := a.waitsWith(t.Context(), "k", time.Minute, minute)
		fails = 1
		unlock(t, held)
		require.Nil(t, get(t, first))
		unlock(t, has(t, second))
		require.True(t, b.tryOnce(t, "k"))
	})
}
