package replay

import (
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/wire"
)

func newTestStore(t *testing.T) *store {
	t.Helper()
	s, err := wire.NewStore(1, "lock", "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Redis.Close() })
	return &store{s, map[string]string{}}
}

// Holders are listed with their owners, in any layout of a lock.
func TestHoldersOfALockServer(t *testing.T) {
	s, ctx := newTestStore(t), t.Context()
	assert.Equal(t, "lock: free", s.text(ctx, ""))
	deadline := float64(time.Now().Add(30 * time.Second).UnixMilli())
	for _, err := range []error{
		s.Redis.Set(ctx, "{k}:fence", "7", time.Minute).Err(), // outlasts the lock
		s.Redis.LPush(ctx, "{k}:queue", "x").Err(),            // not a holder
		s.Redis.Set(ctx, "key", "token", 0).Err(),
	} {
		require.NoError(t, err)
	}
	assert.Equal(t, "lock: a", s.text(ctx, "a"))
	assert.Equal(t, "lock: a", s.text(ctx, "b"), "it is still a's")
	require.NoError(t, s.Redis.Del(ctx, "key").Err())
	assert.Equal(t, "lock: free", s.text(ctx, ""))
	require.NoError(t, s.Redis.HSet(ctx, "key", "token", 1).Err())
	require.NoError(t, s.Redis.PExpire(ctx, "key", 20*time.Second).Err())
	assert.Regexp(t, `^lock: b (1\d|20)\.\d\d s$`, s.text(ctx, "b"))
	require.NoError(t, s.Redis.Del(ctx, "key").Err())
	until := strconv.FormatFloat(deadline, 'f', 0, 64)
	require.NoError(t, s.Redis.Do(ctx, "ZADD", "key", until, "one", 1, "long ago").Err())
	assert.Regexp(t, `^lock: \? (2\d|30)\.\d\d s$`, s.text(ctx, ""))
	ends, err := s.expiries(ctx)
	require.NoError(t, err)
	assert.Len(t, ends, 1, "neither the fence nor anything expired")
	s.Down = true
	assert.Equal(t, "lock: down", s.text(ctx, ""))
}

// Keys that were set since time last passed expire together.
func TestKeysExpireTogether(t *testing.T) {
	first, second := newTestStore(t), newTestStore(t)
	p := &player{times: usual, nodes: []*store{first, second}, passed: time.Now().Add(-3 * time.Second)}
	now := time.Now()
	until, err := p.expiry(t.Context())
	require.NoError(t, err)
	assert.WithinDuration(t, now.Add(usual.idle), until, time.Second, "nothing expires")
	for i, ttl := range []time.Duration{5, 7, 60} {
		of := []*store{first, second, second}[i]
		require.NoError(t, of.Redis.Set(t.Context(), strconv.Itoa(i), "x", ttl*time.Second).Err())
	}
	until, err = p.expiry(t.Context())
	require.NoError(t, err)
	assert.WithinDuration(t, now.Add(7*time.Second), until, 1500*time.Millisecond)
}
