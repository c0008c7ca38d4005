package lock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// A Redis is asked for commands by sending them, which removes no lock. One that knows none of those that a rung asks
// for lacks these.
func TestAskCommands(t *testing.T) {
	t.Parallel()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		server := start(t)
		rdb := backendtest.Client(t, server)
		r := rung(t, "v4.5")
		require.NoError(t, rdb.Set(t.Context(), r.Key("1"), "token", 0).Err())
		require.NoError(t, rdb.LPush(t.Context(), r.Key("2"), "foreign").Err())
		known := AskCommands(t.Context(), rdb, "1")
		assert.Equal(t, known, AskCommands(t.Context(), rdb, "2"), "a key of another type")
		if server.Kind == backendtest.Embedded {
			assert.Equal(t, []string{delex}, known)
		}
		b := Backends{Redis: rdb, Commands: known}
		for _, command := range r.Asks {
			assert.Equal(t, command == b.known(command), sendIfEqual(t.Context(), rdb, command, "free", "token").Err() == nil)
		}
		assert.Equal(t, len(known) == 0, b.Missing(r) != "")
		assert.Equal(t, "token", rdb.Get(t.Context(), r.Key("1")).Val())
		for _, command := range known {
			assert.ErrorIs(t, deleteIfEqual(t.Context(), rdb, command, r.Key("1"), "another"), ErrLost)
			assert.NoError(t, deleteIfEqual(t.Context(), rdb, command, r.Key("1"), "token"))
		}
	})
	assert.Equal(t, "DELEX or DELIFEQ", Backends{Redis: backendtest.Client(t, backendtest.StartEmbedded(t))}.
		Missing(rung(t, "v4.5")))
	assert.Equal(t, NeedRedis, Backends{Commands: []string{delex}}.Missing(rung(t, "v4.5")))
}
