package lock

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lease also expires if its renewing goroutine does not run: the next method call finds it expired. It stays lost
// when the goroutine goes on.
func TestLeaseEndsByTheClock(t *testing.T) {
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
				ctx, stop := b.keepAlive(t.Context(), Options{TTL: time.Second}, time.Second/2,
					time.Now().Add(time.Second), renewed)
				inner, stopInner := b.keepAlive(ctx, Options{TTL: time.Hour}, time.Hour, time.Now().Add(time.Hour), renewed)
				goOn := sync.OnceFunc(func() { close(stuck) })
				defer func() {
					goOn()
					stopInner()
					stop()
				}()
				below, cancel := context.WithCancel(context.WithValue(inner, anyKey{}, nil))
				defer cancel()
				time.Sleep(time.Second - time.Nanosecond)
				require.False(t, ended(inner))
				time.Sleep(time.Nanosecond)
				require.True(t, ended(inner), "with the outer lease")
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

// An anyKey is the key of a value that derives a context.
type anyKey struct{}

// A renewal whose success is noticed after the lease has expired does not revive the lease, even without a check in
// between.
func TestRenewalNoticedTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		b := newRuntime(Backends{Process: Process{OnRenew: func(bool) { <-stuck }}})
		renewed := func(context.Context) (bool, error) { return true, nil }
		ctx, stop := b.keepAlive(t.Context(), Options{TTL: time.Second}, time.Second/2,
			time.Now().Add(time.Second), renewed)
		defer stop()
		time.Sleep(time.Second)
		close(stuck)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
	})
}

// blockRenewals lets no renewal end until goOn is called. A test that fails before that calls it too, as the end of the
// instance waits for its renewals.
func (i *instance) blockRenewals(t *testing.T) (goOn func()) {
	t.Helper()
	stuck := make(chan struct{})
	i.OnRenew = func(bool) { <-stuck }
	goOn = sync.OnceFunc(func() { close(stuck) })
	t.Cleanup(goOn)
	return goOn
}

// Several locks are one lease: the context of the last one also ends when the first one is lost.
func TestMultilockEndsByTheClock(t *testing.T) {
	t.Parallel()
	onRungs(t, []string{"v9", "v9-naive"}, 0, func(t *testing.T, s *shop, r Rung) {
		a := s.instance(t, r)
		goOn := a.blockRenewals(t)
		try, acquireAll := r.BuildSeveral(a.Backends)
		ctx := context.Background()
		ttls := map[string]time.Duration{"k1": slowTTL, "k2": time.Minute}
		attempt := func(ctx context.Context, keys ...string) (*Lease, error) {
			return try(ctx, keys, Options{TTL: ttls[keys[0]]})
		}
		lease, err := acquireAll(ctx, ctx, []string{"k1", "k2"}, 0, a.wait, attempt)
		require.NoError(t, err)
		time.Sleep(2 * slowTTL)
		assert.ErrorIs(t, context.Cause(lease.Context), ErrLost)
		goOn()
		_ = lease.Unlock(ctx)
	})
}

// An unrenewed lease expires after its TTL, and not before.
func TestLeaseUnrenewedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		renewed := func(context.Context) (bool, error) {
			t.Error("renewed")
			return true, nil
		}
		rt := newRuntime(Backends{})
		ctx, stop := rt.keepAlive(t.Context(), Options{TTL: time.Second, NoRenew: true}, time.Second/2,
			start.Add(time.Second), renewed)
		defer stop()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

// A lease inside another one is valid as long as both are. A context without a lease has no expiry.
func TestLeaseIsValidAsLongAsOuter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt, start := newRuntime(Backends{}), time.Now()
		renewed := func(context.Context) (bool, error) { return true, nil }
		outer, stopOuter := rt.keepAlive(t.Context(), Options{TTL: time.Minute}, time.Minute, start.Add(time.Minute), renewed)
		defer stopOuter()
		inner, stopInner := rt.keepAlive(outer, Options{TTL: time.Hour}, time.Hour, start.Add(time.Hour), renewed)
		defer stopInner()
		for _, ctx := range []context.Context{outer, inner, context.WithValue(inner, anyKey{}, nil)} {
			until, known := (&Lease{Context: ctx}).ValidUntil()
			assert.True(t, known)
			assert.Equal(t, start.Add(time.Minute), until)
		}
		_, known := (&Lease{Context: t.Context()}).ValidUntil()
		assert.False(t, known)
	})
}
