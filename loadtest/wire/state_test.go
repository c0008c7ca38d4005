package wire

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// newRedis returns a client of a real Redis of its own.
func newRedis(t *testing.T) *redis.Client {
	t.Helper()
	backendtest.Require(t)
	rdb, ok := backendtest.Client(t, backendtest.StartRedis(t)).(*redis.Client)
	require.True(t, ok)
	return rdb
}

// A snapshot has every key of every database with its parts, and the keys can be restored from it.
func TestSnapshotIsRestored(t *testing.T) {
	rdb, ctx := newRedis(t), t.Context()
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "string", "token", time.Hour)
		p.HSet(ctx, "hash", "owner", "1", "other", "2")
		p.SAdd(ctx, "set", "a", "b")
		p.ZAdd(ctx, "zset", redis.Z{Score: 1.5, Member: "a"})
		p.RPush(ctx, "list", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		p.Do(ctx, "SELECT", 3)
		p.Set(ctx, "string", "elsewhere", 0)
		p.Do(ctx, "SELECT", 0)
		return nil
	})
	require.NoError(t, err)
	before, err := Snapshot(ctx, rdb)
	require.NoError(t, err)
	assert.Len(t, before, 6)
	assert.Equal(t, map[string]string{"": "elsewhere"}, before[Key{3, "string"}].Parts)
	assert.Equal(t, map[string]string{"owner": "1", "other": "2"}, before[Key{0, "hash"}].Parts)
	assert.Equal(t, "10", before[Key{0, "list"}].Parts["10"])
	require.NoError(t, rdb.FlushAll(ctx).Err())
	for key, state := range before {
		require.NoError(t, PutState(ctx, rdb, key, state))
	}
	after, err := Snapshot(ctx, rdb)
	require.NoError(t, err)
	for key, state := range before {
		got := after[key]
		assert.Equal(t, state.Kind, got.Kind, key)
		assert.Equal(t, state.Parts, got.Parts, key)
		assert.WithinDuration(t, state.Ends, got.Ends, rounding, key)
	}
}

// Put sets the lock to held or to its state at rest, and leaves other parts of the key alone.
func TestLockIsPut(t *testing.T) {
	rdb, ctx := newRedis(t), t.Context()
	for _, one := range []struct {
		what       string
		rest, held []string // commands
		parts      []string
	}{
		{"a string", nil, []string{"set k token"}, []string{""}},
		{"a counter", []string{"set k 0"}, []string{"set k 1"}, []string{""}},
		{"a field", []string{"hset k ready 1"}, []string{"hset k ready 1", "hset k 10000 token"}, []string{"10000"}},
		{"a field for each owner", []string{"hset k ready 1"}, []string{"hset k ready 1", "hset k uuid:1 1"}, nil},
		{"a token in a list", []string{"rpush k t"}, nil, []string{"0"}},
		{"a permit", nil, []string{"zadd k 7 order"}, nil},
		{"a queue", nil, []string{"rpush k order another"}, nil},
	} {
		state := func(commands []string) KeyState {
			require.NoError(t, rdb.FlushAll(ctx).Err())
			for _, command := range commands {
				var args []any
				for word := range strings.FieldsSeq(command) {
					args = append(args, word)
				}
				require.NoError(t, rdb.Do(ctx, args...).Err())
			}
			states, err := lookAt(ctx, rdb, []Key{{Name: "k"}})
			require.NoError(t, err)
			return states[Key{Name: "k"}]
		}
		held := state(one.held)
		l := Lock{Key: Key{Name: "k"}, Parts: one.parts, Rest: state(one.rest)}
		assert.True(t, l.Held(held), one.what)
		assert.False(t, l.Held(l.Rest), one.what)
		for _, want := range []KeyState{held, l.Rest, held} {
			require.NoError(t, l.Put(ctx, rdb, want))
			states, err := lookAt(ctx, rdb, []Key{l.Key})
			require.NoError(t, err)
			assert.Equal(t, want.Parts, states[l.Key].Parts, one.what)
		}
	}
}

// A lock is put back with the TTL that it had, which is renewed. A key without a TTL, or with other parts, keeps none.
// The server expires one that has a TTL.
func TestLockIsPutWithItsTTL(t *testing.T) {
	rdb, ctx := newRedis(t), t.Context()
	key := Key{3, "k"}
	now := func() KeyState {
		states, err := lookAt(ctx, rdb, []Key{key})
		require.NoError(t, err)
		return states[key]
	}
	l := Lock{Key: key, Parts: []string{""}, Rest: none}
	at := time.Now().Add(-time.Hour) // it was looked at long ago
	leased := KeyState{At: at, Ends: at.Add(time.Minute), Kind: "string", Parts: map[string]string{"": "token"}}
	require.NoError(t, l.Put(ctx, rdb, leased))
	state := now()
	assert.InDelta(t, 60, state.TTL().Seconds(), 20)
	leased.Ends = at.Add(time.Hour)
	require.NoError(t, l.Prolong(ctx, rdb, leased))
	state = now()
	assert.InDelta(t, 3600, state.TTL().Seconds(), 20)

	endless := KeyState{At: at, Kind: "string", Parts: leased.Parts}
	require.NoError(t, l.Put(ctx, rdb, endless))
	require.NoError(t, l.Prolong(ctx, rdb, leased))
	state = now()
	assert.Equal(t, "string", state.Kind)
	assert.Zero(t, state.TTL())
	require.NoError(t, l.Expire(ctx, rdb))
	state = now()
	assert.True(t, state.Exists(), "it has no lease that could end")
	require.NoError(t, l.Put(ctx, rdb, leased))
	require.NoError(t, l.Expire(ctx, rdb))
	state = now()
	assert.False(t, state.Exists())
	require.NoError(t, l.Put(ctx, rdb, l.Rest))
	require.NoError(t, l.Prolong(ctx, rdb, leased))
	state = now()
	assert.False(t, state.Exists(), "it is not made again")
}

// A holder in a list has the name of its value: a removal renumbers the others.
func TestHoldersInList(t *testing.T) {
	l := Lock{Key: Key{Name: "k"}, Rest: none}
	of := func(s KeyState) []string { return slices.Sorted(maps.Keys(l.holders(&s))) }
	assert.Equal(t, []string{"anna", "bert"}, of(list("anna", "bert")))
	assert.Equal(t, []string{"bert"}, of(list("bert")))
	assert.Empty(t, of(none))
}

// A time in the near future, in a value or a score, is the expiry of a lease.
func TestStart(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	l := Lock{Key: Key{Name: "lock"}, Rest: KeyState{Kind: "none"}}
	for value, want := range map[string]time.Duration{"1700000000": 0, "1699999999.25": -750 * time.Millisecond,
		"worker@1699999998000": -2 * time.Second, "1699999998000000": -2 * time.Second} {
		s := KeyState{At: now, Kind: "string", Parts: map[string]string{"": value}}
		assert.WithinDuration(t, now.Add(want), l.Start(&s), time.Microsecond, value)
	}
	for _, value := range []string{"1700000002", "1699990000", "shop-17"} {
		s := KeyState{At: now, Kind: "string", Parts: map[string]string{"": value}}
		assert.Zero(t, l.Start(&s), value)
	}
}

func TestDeadline(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	for _, one := range []struct {
		kind, value string
		want        time.Duration
	}{
		{"string", "1700000002", 2 * time.Second},
		{"string", "1700000002.5", 2500 * time.Millisecond},
		{"string", `{"owner":"1234567890123","until":1700000002500}`, 2500 * time.Millisecond},
		{"zset", "1700000002500000", 2500 * time.Millisecond},
		{"hash", "uuid:1700003599000", 3599 * time.Second},
		{"string", "1699999999", 0},    // perhaps the time of the acquire
		{"string", "1700003601000", 0}, // more than an hour ahead
		{"string", "170000000250", 0},
		{"string", "shop-17", 0},
	} {
		name := ""
		if one.kind != "string" {
			name = "owner"
		}
		s := KeyState{At: now, Kind: one.kind, Parts: map[string]string{name: one.value}}
		l := Lock{Key: Key{Name: "lock"}, Rest: KeyState{Kind: "none"}}
		var want time.Time
		if one.want > 0 {
			want = now.Add(one.want)
		}
		assert.WithinDuration(t, want, l.Deadline(&s), time.Millisecond, one.value)
		l.Rest = s
		assert.Zero(t, l.Deadline(&s), "at rest")
	}
}

// Large keys and keys of other types are opaque, and too many keys are an error.
func TestSnapshotIsBounded(t *testing.T) {
	rdb, ctx := newRedis(t), t.Context()
	require.NoError(t, rdb.Set(ctx, "large", strings.Repeat("x", 70_000), 0).Err())
	require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: []string{"a", "b"}}).Err())
	states, err := Snapshot(ctx, rdb)
	require.NoError(t, err)
	assert.True(t, states[Key{0, "large"}].Opaque)
	assert.True(t, states[Key{0, "stream"}].Opaque)
	fill := "for i = 1, tonumber(ARGV[1]) do redis.call('SET', i, i) end return 1"
	require.NoError(t, rdb.Eval(ctx, fill, nil, mostKeys).Err())
	_, err = Snapshot(ctx, rdb)
	assert.ErrorContains(t, err, "this Redis has more than 10000 keys")
}
