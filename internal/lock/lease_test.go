package lock

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// A lease whose renewing goroutine does not get to run ends all the same, at the moment when somebody looks, and
// however they look. It does not come back when the goroutine goes on.
func TestALeaseAnswersFromTheClock(t *testing.T) {
	t.Parallel()
	looks := map[string]func(ctx context.Context) bool{
		"Err":   func(ctx context.Context) bool { return ctx.Err() != nil },
		"Cause": func(ctx context.Context) bool { return context.Cause(ctx) != nil },
		"Done": func(ctx context.Context) bool {
			select {
			case <-ctx.Done():
				return true
			default:
				return false
			}
		},
	}
	for name, ended := range looks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				b := newRuntime(Backends{Process: Process{OnRenew: func(bool) { <-stuck }}})
				renewed := func(context.Context) (bool, error) { return true, nil }
				ctx, stop := b.keepAlive(t.Context(), time.Second, time.Second/2, time.Now().Add(time.Second), renewed)
				inner, stopInner := b.keepAlive(ctx, time.Hour, time.Hour, time.Now().Add(time.Hour), renewed)
				goOn := sync.OnceFunc(func() { close(stuck) })
				defer func() {
					goOn()
					stopInner()
					stop()
				}()
				below, cancel := context.WithCancel(context.WithValue(inner, ownerKey{}, nil))
				defer cancel()
				time.Sleep(time.Second - time.Nanosecond)
				require.False(t, ended(inner))
				time.Sleep(time.Nanosecond)
				require.True(t, ended(inner), "with the lease that it lies within")
				for _, c := range []context.Context{ctx, inner, below} {
					require.ErrorIs(t, c.Err(), context.Canceled)
					require.ErrorIs(t, context.Cause(c), ErrLost)
					<-c.Done()
				}
				goOn()
				time.Sleep(time.Second)
				require.ErrorIs(t, context.Cause(ctx), ErrLost)
				stopInner()
				stop()
				require.ErrorIs(t, context.Cause(ctx), ErrLost)
			})
		})
	}
}

// A renewal whose success is noticed when the lease is over does not bring it back, though nobody has looked meanwhile.
func TestARenewalThatIsHeardOfTooLateIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		b := newRuntime(Backends{Process: Process{OnRenew: func(bool) { <-stuck }}})
		renewed := func(context.Context) (bool, error) { return true, nil }
		ctx, stop := b.keepAlive(t.Context(), time.Second, time.Second/2, time.Now().Add(time.Second), renewed)
		defer stop()
		time.Sleep(time.Second)
		close(stuck)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
	})
}

// So does every rung that watches its lease. v5 does not look.
func TestWorkIsToldOfTheLossByTheClock(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v5", "v5.5", "v6", "v7", "v8", "v9", "v9-nodes", "v10", "v11", "v12", "v15"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, backendtest.StartEmbedded, 3)
			a := s.instance(t, rung(t, id))
			stuck := make(chan struct{})
			a.OnRenew = func(bool) { <-stuck }
			a.tryLock, _ = rung(t, id).Build(a.Backends)
			lease := a.lock(t, "k", ttl)
			within := lease
			if slices.Contains([]string{"v7", "v12"}, id) {
				ctx := owned("1")
				outer := must(a.tryLock(ctx, "nested", ttl))
				within = must(a.tryLock(WithOwner(outer.Context, ownerOf(ctx)), "nested", time.Minute))
			}
			time.Sleep(2 * ttl)
			for _, l := range []*Lease{lease, within} {
				if id == "v5" {
					require.NoError(t, l.Context.Err())
				} else {
					require.ErrorIs(t, context.Cause(l.Context), ErrLost)
				}
			}
			close(stuck)
			_ = lease.Unlock(context.Background())
		})
	}
}

// Several locks are one lease: that of the first is looked at through that of the last.
func TestSeveralLeasesAnswerFromTheClock(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v9", "v9-naive"} {
		s := newShop(t, backendtest.StartEmbedded, 0)
		a := s.instance(t, rung(t, id))
		stuck := make(chan struct{})
		a.OnRenew = func(bool) { <-stuck }
		try, acquireAll := rung(t, id).BuildSeveral(a.Backends)
		ctx := context.Background()
		ttls := map[string]time.Duration{"k1": ttl, "k2": time.Minute}
		lease, err := acquireAll(ctx, ctx, []string{"k1", "k2"}, 0, a.wait, func(ctx context.Context, keys ...string) (*Lease, error) {
			return try(ctx, keys, ttls[keys[0]])
		})
		require.NoError(t, err)
		time.Sleep(2 * ttl)
		assert.ErrorIs(t, context.Cause(lease.Context), ErrLost)
		close(stuck)
		_ = lease.Unlock(ctx)
	}
}
