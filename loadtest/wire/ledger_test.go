package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// newLedger returns a ledger of a server's stock, and a client.
func newLedger(t *testing.T, stock Shelf) (*Ledger, *redis.Client) {
	t.Helper()
	backendtest.Require(t)
	rdb, ok := backendtest.Client(t, backendtest.StartRedis(t)).(*redis.Client)
	require.True(t, ok)
	l, err := NewLedger(t.Context(), rdb, stock)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l, rdb
}

// written returns the writes without their times and addresses.
func written(t *testing.T, l *Ledger) (all []StockWrite) {
	t.Helper()
	writes, _, err := l.Writes(t.Context())
	require.NoError(t, err)
	for _, w := range writes {
		assert.NotEmpty(t, w.From)
		assert.False(t, w.At.IsZero())
		w.At, w.From = time.Time{}, ""
		all = append(all, w)
	}
	return all
}

func TestLedgerComputesStockAfterWrite(t *testing.T) {
	for _, one := range []struct {
		args  []string
		after int64
		adds  bool
		on    bool
	}{
		{[]string{"SET", "stock", "9"}, 9, false, true},
		{[]string{"set", "stock", "9", "XX", "GET"}, 9, false, true},
		{[]string{"set", "stock", "9", "nx"}, 0, false, false},
		{[]string{"set", "stock", "9", "IFEQ", "10"}, 9, true, true},
		{[]string{"set", "stock", "9", "get", "ifeq", "11"}, 0, false, false},
		{[]string{"set", "stock", "9", "ifne", "11"}, 9, false, true},
		{[]string{"set", "stock", "9", "ifne", "10"}, 0, false, false},
		{[]string{"set", "stock", "9", "ifdeq", digestOf("10")}, 9, true, true},
		{[]string{"set", "stock", "9", "ifdne", digestOf("10")}, 0, false, false},
		{[]string{"delex", "stock", "ifeq", "10"}, 0, true, true},
		{[]string{"delex", "stock", "ifeq", "0"}, 0, false, false},
		{[]string{"delex", "stock"}, 0, false, true},
		{[]string{"delifeq", "stock", "0"}, 0, false, false},
		{[]string{"getset", "stock", "9"}, 9, false, true},
		{[]string{"setex", "stock", "60", "9"}, 9, false, true},
		{[]string{"decr", "stock"}, 9, true, true},
		{[]string{"decrby", "stock", "3"}, 7, true, true},
		{[]string{"incr", "stock"}, 11, true, true},
		{[]string{"incrby", "stock", "-2"}, 8, true, true},
		{[]string{"expire", "stock", "60"}, 0, false, false},
		{[]string{"setnx", "stock", "9"}, 0, false, false},
		{[]string{"expireat", "stock", "1700000000"}, 0, false, false},
		{[]string{"getex", "stock", "EX", "60"}, 0, false, false},
		{[]string{"msetnx", "stock", "9"}, 0, false, false},
		{[]string{"del", "other", "stock"}, 0, false, true},
		{[]string{"del", "other"}, 0, false, false},
		{[]string{"mset", "other", "stock", "stock", "9"}, 9, false, true},
		{[]string{"mset", "other", "stock"}, 0, false, false},
		{[]string{"set", "stocks", "9"}, 0, false, false},
	} {
		after, counts, on := Shelf{Key: "stock"}.after(one.args, 10)
		require.Equal(t, one.on, on, one.args)
		if one.on {
			require.NotNil(t, after, one.args)
			assert.Equal(t, one.after, *after, one.args)
			assert.Equal(t, one.adds, counts, one.args)
		}
	}
	hash := Shelf{Key: "stock", Field: "n"}
	for _, one := range []struct {
		args  []string
		after int64
		on    bool
	}{
		{[]string{"hincrby", "stock", "n", "-1"}, 9, true},
		{[]string{"hincrby", "stock", "sold", "1"}, 0, false},
		{[]string{"hset", "stock", "sold", "1", "n", "4"}, 4, true},
		{[]string{"hset", "stock", "sold", "1"}, 0, false},
		{[]string{"hsetnx", "stock", "lock", "token"}, 0, false},
		{[]string{"hdel", "stock", "lock"}, 0, false},
		{[]string{"hset", "stock", "last", "n"}, 0, false},
		{[]string{"hset", "stock", "n", "4", "last", "n"}, 4, true},
		{[]string{"hpersist", "stock", "FIELDS", "1", "n"}, 0, false},
	} {
		after, _, on := hash.after(one.args, 10)
		require.Equal(t, one.on, on, one.args)
		if one.on {
			require.NotNil(t, after, one.args)
			assert.Equal(t, one.after, *after, one.args)
		}
	}
	for _, args := range [][]string{{"set", "stock", "many"}, {"append", "stock", "1"}, {"decrby", "stock"}} {
		after, _, on := Shelf{Key: "stock"}.after(args, 10)
		assert.True(t, on, args)
		assert.Nil(t, after, args)
	}
}

// The ledger has the server's writes in order, with their clients, including those of scripts and transactions.
func TestLedgerRecordsEveryWrite(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	ctx := t.Context()
	other := redis.NewClient(rdb.Options())
	defer other.Close()
	require.NoError(t, rdb.Set(ctx, "stock", 10, 0).Err())
	require.NoError(t, other.Decr(ctx, "stock").Err())
	require.NoError(t, other.Eval(ctx, "return redis.call('DECRBY', KEYS[1], 2)", []string{"stock"}).Err())
	_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "stock", 6, 0)
		p.Set(ctx, "order", 1, 0)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, rdb.Get(ctx, "stock").Err())
	require.NoError(t, rdb.SetNX(ctx, "lock", "\x00 \"stock", 0).Err())
	assert.Equal(t, []StockWrite{{After: 10}, {Before: 10, After: 9, Counts: true}, {Before: 9, After: 7, Counts: true},
		{Before: 7, After: 6}}, written(t, l))
}

// A write with a condition is one only where that held, by the server's reply or not.
func TestLedgerComparesAsServer(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	ctx := t.Context()
	do := func(args ...any) any {
		reply, err := rdb.Do(ctx, args...).Result()
		if err != nil {
			require.ErrorIs(t, err, redis.Nil)
		}
		return reply
	}
	if err := rdb.Do(ctx, "SET", "other", 1, "IFEQ", 0).Err(); err != nil && !errors.Is(err, redis.Nil) {
		t.Skip("needs a server that knows SET IFEQ: " + err.Error())
	}
	do("SET", "stock", 10)
	assert.Nil(t, do("SET", "stock", 9, "IFEQ", 11))
	assert.Equal(t, "10", do("SET", "stock", 9, "IFEQ", 11, "GET"))
	assert.Equal(t, "10", do("SET", "stock", 9, "IFEQ", 10, "GET"))
	for _, had := range []int{10, 9} {
		_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Do(ctx, "SET", "stock", 8, "IFEQ", had)
			return p.Incr(ctx, "other").Err()
		})
		require.True(t, err == nil || errors.Is(err, redis.Nil), err)
	}
	for _, had := range []int{9, 8} {
		do("EVAL", "return redis.call('SET', KEYS[1], 7, 'IFEQ', ARGV[1])", 1, "stock", had)
	}
	assert.Equal(t, []StockWrite{{After: 10}, {Before: 10, After: 9, Counts: true}, {Before: 9, After: 8, Counts: true},
		{Before: 8, After: 7, Counts: true}}, written(t, l))
	assert.Equal(t, "7", rdb.Get(ctx, "stock").Val())
}

// A command that only mentions the stock's key does not write it.
func TestLedgerIgnoresMentions(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	ctx := t.Context()
	require.NoError(t, rdb.Set(ctx, "stock", 10, 0).Err())
	require.NoError(t, rdb.SAdd(ctx, "products", "stock").Err())
	require.NoError(t, rdb.Set(ctx, "last", "stock", 0).Err())
	require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: "orders", Values: []string{"key", "stock"}}).Err())
	require.NoError(t, rdb.RPush(ctx, "queue", "stock").Err())
	assert.Len(t, written(t, l), 1)
	_, keys, err := l.Writes(ctx)
	require.NoError(t, err)
	assert.Contains(t, keys, Key{Name: "products"})
}

// The server may have a password and several users.
func TestLedgerAuthenticates(t *testing.T) {
	_, rdb := newLedger(t, Shelf{Key: "stock"})
	ctx := t.Context()
	require.NoError(t, rdb.Do(ctx, "ACL", "SETUSER", "watcher", "on", ">secret", "~*", "+@all").Err())
	require.NoError(t, rdb.Do(ctx, "ACL", "SETUSER", "clerk", "on", ">secret", "~*", "+@all", "-monitor").Err())
	as := func(name string) *redis.Client {
		o := *rdb.Options()
		o.Username, o.Password = name, "secret"
		c := redis.NewClient(&o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	l, err := NewLedger(ctx, as("watcher"), Shelf{Key: "stock"})
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, rdb.Set(ctx, "stock", 10, 0).Err())
	assert.Equal(t, []StockWrite{{After: 10}}, written(t, l))
	_, err = NewLedger(ctx, as("clerk"), Shelf{Key: "stock"})
	assert.ErrorContains(t, err, "run MONITOR: -NOPERM")
}

// A server refuses a command that it does not know: alone, in a transaction or in a script.
func TestLedgerNamesUnknownCommands(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	err := rdb.Eval(t.Context(), "return redis.call('DELMINE', KEYS[1])", []string{"lock"}).Err()
	require.Error(t, err)
	eval := []string{"EVAL", "return redis.call('DELMINE', KEYS[1])", "1", "lock"}
	for _, one := range []struct {
		want string
		seen Seen
	}{
		{"DELMINE", Seen{Args: []string{"delmine", "lock"}, Failed: true}},
		{"", Seen{Args: []string{"delmine", "lock"}}},
		{"", Seen{Args: []string{"incr", "lock"}, Failed: true}},
		{"DELMINE", Seen{Args: []string{"get", "a"}, Queued: [][]string{{"get", "a"}, {"DELMINE", "b"}}, Failed: true}},
		{"a command in a script", Seen{Args: eval, Failed: true, Reply: err.Error()}},
		{"", Seen{Args: eval, Failed: true, Reply: "ERR user_script:1: nil"}},
	} {
		assert.Equal(t, one.want, l.Unknown(&one.seen))
	}
}

func TestLedgerReportsUnknownStock(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	require.NoError(t, rdb.Set(t.Context(), "stock", 10, 0).Err())
	require.NoError(t, rdb.Append(t.Context(), "stock", "1").Err())
	_, _, err := l.Writes(t.Context())
	assert.ErrorContains(t, err, `the stock after "append stock 1" is unknown`)
}

// The stock may turn out to be in another database.
func TestLedgerFollowsStockToDatabase(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	used := func() []int { return l.Databases(func(address string) bool { return address != "" }) }
	in2 := func(args ...any) {
		_, err := rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Do(t.Context(), "SELECT", 2)
			p.Do(t.Context(), args...)
			return p.Do(t.Context(), "SELECT", 0).Err()
		})
		require.NoError(t, err)
	}
	require.NoError(t, rdb.Set(t.Context(), "other", 1, 0).Err())
	in2("SET", "stock", 7)
	assert.Empty(t, written(t, l))
	assert.Equal(t, []int{2}, used())
	assert.Empty(t, l.Databases(func(string) bool { return false }))
	l.Follow(2)
	in2("EVAL", "return redis.call('DECR', 'stock')", 0)
	require.ErrorIs(t, rdb.Get(t.Context(), "stock").Err(), redis.Nil)
	assert.Len(t, written(t, l), 1)
	assert.Equal(t, []int{0, 2}, used())
}

// A lock's first write requires that its key is absent. A session's does not.
func TestLedgerSeesClaims(t *testing.T) {
	l, rdb := newLedger(t, Shelf{Key: "stock"})
	ctx := t.Context()
	require.NoError(t, rdb.Set(ctx, "plain", 1, 0).Err())
	require.ErrorIs(t, rdb.Get(ctx, "looked").Err(), redis.Nil)
	require.NoError(t, rdb.Set(ctx, "looked", 1, 0).Err())
	require.NoError(t, rdb.SetNX(ctx, "claimed", 1, 0).Err())
	require.NoError(t, rdb.Eval(ctx, "redis.call('EXISTS', KEYS[1]) redis.call('HSET', KEYS[1], 'f', 1) "+
		"return redis.call('SET', KEYS[2], 1)", []string{"checked", "written"}).Err())
	written(t, l)
	for key, want := range map[string]bool{"plain": false, "looked": false, "claimed": true, "checked": true,
		"written": false} {
		assert.Equal(t, want, l.Claimed(Key{Name: key}), key)
	}
}
