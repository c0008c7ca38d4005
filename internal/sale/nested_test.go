package sale

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
)

// Work that takes its own order's lock acquires it on reentrant rungs, and where there is no lock. Elsewhere it sells
// nothing, and leaves no lock behind.
func TestNestedOrders(t *testing.T) {
	sells := map[string]bool{"v0": true, "v7": true, "v7-cached": true, "v8": true, "v11-two": true, "v12": true,
		"v16": true, "v17": true}
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		o, none := order(), time.Duration(0)
		o.Nested, o.Wait = true, &none
		_, err := s.Decrease(context.Background(), r.Number, o)
		if sells[r.Number] {
			require.NoError(t, err)
			assert.EqualValues(t, 99, left(t, s))
			return
		}
		require.ErrorIs(t, err, lock.ErrBusy)
		assert.ErrorContains(t, err, "asked again for the lock that it holds")
		assert.EqualValues(t, 100, left(t, s))
		_, err = s.Decrease(context.Background(), r.Number, order())
		require.NoError(t, err, "the lock was given back")
	})
}

// A caller is like a thread: a reentrant lock would admit two concurrent orders of one caller.
func TestACallerDoesOneThingAtATime(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	first := order()
	first.Caller, first.Work = 7, time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := s.Decrease(ctx, "v7", first)
		done <- err
	}()
	second, another := order(), order()
	second.Caller, another.Caller = 7, 8
	none := time.Duration(0)
	another.Wait = &none
	require.Eventually(t, func() bool {
		_, err := s.Decrease(context.Background(), "v7", another)
		return err != nil
	}, 10*time.Second, time.Millisecond, "the first is inside")
	_, err := s.Decrease(context.Background(), "v7", second)
	require.ErrorIs(t, err, ErrCallerBusy)
	cancel()
	<-done
	_, err = s.Decrease(context.Background(), "v7", second)
	require.NoError(t, err, "and then the next")
}
