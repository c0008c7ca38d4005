package backend_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

func TestSetNXWithTTLGivesTheKeyAnEnd(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		client, err := backend.Open(start(t).URL, backend.Options{Timeout: time.Second})
		require.NoError(t, err)
		defer client.Close()
		var seen []string
		client.AddHook(watch(func(cmd redis.Cmder) {
			if cmd.Name() != "hello" { // that of connecting
				seen = append(seen, cmd.Name())
			}
		}))
		client.AddHook(backend.SetNXWithTTL(time.Hour))
		setNX := func(key string) (bool, error) { return client.Do(t.Context(), "SETNX", key, "1").Bool() }

		got, err := setNX("free")
		require.NoError(t, err)
		assert.True(t, got)
		assert.Equal(t, "1", client.Get(t.Context(), "free").Val())
		assert.InDelta(t, time.Hour, client.PTTL(t.Context(), "free").Val(), float64(time.Minute))

		got, err = setNX("free")
		require.NoError(t, err)
		assert.False(t, got, "it is taken")
		require.NoError(t, client.Set(t.Context(), "forever", "1", 0).Err())
		got, err = setNX("forever")
		require.NoError(t, err)
		assert.False(t, got)
		assert.Equal(t, time.Duration(-1), client.PTTL(t.Context(), "forever").Val(), "that is not ours to end")
		assert.Equal(t, []string{"setnx", "get", "pttl", "setnx", "set", "setnx", "pttl"}, seen,
			"outer hooks see the SETNX")

		require.NoError(t, client.Close())
		_, err = setNX("free")
		require.Error(t, err)
	})
}

// watch is a hook that shows each command.
type watch func(cmd redis.Cmder)

func (watch) DialHook(next redis.DialHook) redis.DialHook { return next }

func (watch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w watch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w(cmd)
		return next(ctx, cmd)
	}
}
