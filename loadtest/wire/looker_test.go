package wire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// newLooker returns a looker at a server, with a lock and a stock.
func newLooker(t *testing.T, server *backendtest.Server) (*Looker, *redis.Client) {
	t.Helper()
	direct, ok := backendtest.Client(t, server).(*redis.Client)
	require.True(t, ok)
	ledger, err := NewLedger(t.Context(), direct, Shelf{Key: "units"})
	require.NoError(t, err)
	t.Cleanup(ledger.Close)
	lock := Lock{Key: Key{Name: "lock"}, Parts: []string{""}, Rest: KeyState{Kind: "none"}}
	return NewLooker(ledger, []Lock{lock}), direct
}

// on is an effect on a key.
func on(key string, e history.Effect) keyEffect { return keyEffect{key: key, effect: e} }

// around carries out a command, and returns its trace.
func (l *Looker) around(rdb *redis.Client, args ...any) []history.Command {
	var r request
	for _, arg := range args {
		r.args = append(r.args, arg.(string))
	}
	cmd := NewGate(nil).newCommand(nil, &schedule.Server{}, r)
	l.Around(cmd, func() {
		switch reply, err := rdb.Do(context.Background(), args...).Result(); {
		case errors.Is(err, redis.Nil):
			cmd.Reply = "(nil)"
		case err != nil:
			cmd.Reply, cmd.Failed = err.Error(), true
		default:
			cmd.Reply = fmt.Sprint(reply)
		}
		cmd.Answered = time.Now()
	})
	return l.Traced(cmd)
}

func TestLookerSeesScripts(t *testing.T) {
	backendtest.Require(t)
	l, rdb := newLooker(t, backendtest.StartRedis(t))
	const token = "\x00\xff \"t\r\n"
	for _, one := range []struct {
		what string
		args []any
		want []keyEffect
	}{
		{"makes it", []any{"set", "lock", token, "nx", "px", "60000"}, []keyEffect{on("lock", history.EffectAcquired)}},
		{"finds it", []any{"set", "lock", "other", "nx", "px", "60000"}, []keyEffect{on("lock", history.EffectTried)}},
		{"writes the same value", []any{"eval", "redis.call('set', KEYS[1], ARGV[1], 'keepttl')", "1", "lock", token},
			[]keyEffect{on("lock", history.EffectRenewed)}},
		{"removes and recreates it", []any{"eval", "redis.call('del', KEYS[1]); redis.call('set', KEYS[1], ARGV[1])",
			"1", "lock", token}, []keyEffect{on("lock", history.EffectAcquired|history.Endless)}},
		{"hides its keys", []any{"eval", "redis.call('incr', 'units'); redis.call('del', 'lock')", "0"},
			[]keyEffect{on("units", history.EffectWrote), on("lock", history.EffectReleased)}},
		{"touches neither", []any{"set", "order:stock:1", "lock"}, nil},
	} {
		got := l.around(rdb, one.args...)
		assert.Equal(t, len(one.want) == 0, got[0].Effect == history.EffectNothing, one.what)
		for i, want := range one.want {
			assert.Equal(t, want, on(got[i].Key, got[i].Effect), one.what)
		}
	}
}

// A later expiry counts as a renewal, so the expiry must not vary between looks on a slow server.
func TestExpiryIsExactDuringASlowLook(t *testing.T) {
	backendtest.Require(t)
	rdb, ok := backendtest.Client(t, backendtest.StartRedis(t)).(*redis.Client)
	require.True(t, ok)
	var keys []Key
	for i := range 50 {
		keys = append(keys, Key{Name: fmt.Sprint("big", i)})
		fields := map[string]any{}
		for j := range 1000 {
			fields[strconv.Itoa(j)] = "a value"
		}
		require.NoError(t, rdb.HSet(t.Context(), keys[i].Name, fields).Err())
	}
	lock := Key{Name: "lock"}
	require.NoError(t, rdb.Set(t.Context(), lock.Name, "token", time.Minute).Err())
	states, err := lookAt(t.Context(), rdb, append(keys, lock))
	require.NoError(t, err)
	assert.Equal(t, rdb.PExpireTime(t.Context(), lock.Name).Val().Milliseconds(), states[lock].Ends.UnixMilli())
	assert.Zero(t, states[keys[0]].Ends)
}

// A blocking command takes no turn: otherwise the command that unblocks it could never be sent. Without a look no
// effect is recorded for it.
func TestBlockingCommandHoldsBackNoOther(t *testing.T) {
	backendtest.Require(t)
	l, rdb := newLooker(t, backendtest.StartRedis(t))
	popped := make(chan []history.Command)
	go func() { popped <- l.around(rdb, "blpop", "list", "60") }()
	pushed := l.around(rdb, "rpush", "list", "one")
	assert.Equal(t, history.Looked, pushed[0].Source)
	assert.Equal(t, history.EffectNothing, pushed[0].Effect)
	assert.Equal(t, history.Unseen, (<-popped)[0].Source)
}

// A blocking command that was served acquires the lock; one whose time is over does not.
func TestBlockingCommandAcquires(t *testing.T) {
	for reply, want := range map[string]history.Effect{
		"[lock token]": history.EffectAcquired | history.Endless, "(nil)": history.EffectNothing, "": history.EffectNothing,
	} {
		l := &Looker{locks: []Lock{{Key: Key{Name: "lock"}}}, table: commands, mu: &sync.Mutex{}, seen: map[*Command]*seen{}}
		cmd := NewGate(nil).newCommand(nil, &schedule.Server{}, request{args: []string{"blpop", "lock", "1"}})
		l.Around(cmd, func() { cmd.Reply = reply })
		assert.Equal(t, want, l.Traced(cmd)[0].Effect, "%q", reply)
	}
	l := &Looker{locks: []Lock{{Key: Key{Name: "lock"}}}, table: commands, mu: &sync.Mutex{}, seen: map[*Command]*seen{},
		tried: map[string]*Command{}}
	command := func(args ...string) *Command {
		return NewGate(nil).newCommand(nil, &schedule.Server{}, request{args: args})
	}
	other, failed, popped, pushed := command("blpop", "list", "1"), command("blpop", "lock", "1"),
		command("blpop", "lock", "1"), command("rpush", "lock", "token")
	l.Around(other, func() { other.Reply = "[list one]" })
	assert.Equal(t, history.EffectNothing, l.Traced(other)[0].Effect, "it is no lock")
	l.Around(failed, func() { failed.Reply, failed.Failed = "WRONGTYPE Operation", true })
	assert.Equal(t, history.EffectNothing, l.Traced(failed)[0].Effect)
	var shown []string
	l.Saw = func(s *Sight) { shown = append(shown, fmt.Sprint(s.Args[0], " ", s.Effects[0].Effect)) }
	l.Around(popped, func() { // another command serves it
		popped.Reply = "[lock token]"
		l.seen[pushed] = &seen{effects: []keyEffect{on("lock", history.EffectTried), on("units", history.EffectRead)}}
		l.tried["lock"] = pushed
	})
	assert.Equal(t, history.EffectAcquired|history.Endless, l.Traced(popped)[0].Effect)
	assert.Equal(t, history.EffectReleased, l.Traced(pushed)[0].Effect)
	assert.Equal(t, history.EffectRead, l.Traced(pushed)[1].Effect)
	assert.Equal(t, []string{"rpush releases done", "blpop acquires done endless"}, shown)
}

// If the ledger cannot compute the stock after a write, it is read back, as one write.
func TestLookerReadsBackUnknownWrites(t *testing.T) {
	backendtest.Require(t)
	l, rdb := newLooker(t, backendtest.StartRedis(t))
	for _, one := range []struct {
		what string
		args []any
		want []StockWrite
	}{
		{"a part of the number", []any{"setrange", "units", "1", "9"}, []StockWrite{{After: 19, ReadBack: true}}},
		{"the same number", []any{"setrange", "units", "0", "10"}, []StockWrite{{After: 10, ReadBack: true}}},
		{"one more digit", []any{"append", "units", "0"}, []StockWrite{{After: 100, ReadBack: true}}},
		{"another key", []any{"copy", "new", "units", "replace"}, []StockWrite{{After: 7, ReadBack: true}}},
		{"a script, digit by digit", []any{"eval",
			"redis.call('del', KEYS[1]); redis.call('append', KEYS[1], 4); redis.call('append', KEYS[1], 2)", "1", "units"},
			[]StockWrite{{After: 42, ReadBack: true}}},
		{"a script that renames", []any{"eval", "redis.call('rename', KEYS[2], KEYS[1])", "2", "units", "new"},
			[]StockWrite{{After: 7, ReadBack: true}}},
		{"it is renamed", []any{"rename", "units", "old"}, []StockWrite{{ReadBack: true}}},
		{"it is copied", []any{"copy", "units", "old", "replace"}, []StockWrite{}},
		{"it counts", []any{"incrbyfloat", "units", "-1.0"}, []StockWrite{{After: 9, Counts: true, ReadBack: true}}},
		{"it counts, as is known", []any{"incrbyfloat", "units", "-1"}, []StockWrite{{After: 9, Counts: true}}},
	} {
		require.NoError(t, rdb.MSet(t.Context(), "new", 7, "units", 10).Err())
		l.around(rdb, "set", "units", "10")
		before := len(written(t, l.ledger))
		effect := l.around(rdb, one.args...)[0].Effect
		for i := range one.want {
			one.want[i].Before = 10
		}
		assert.Equal(t, one.want, written(t, l.ledger)[before:], one.what)
		assert.Equal(t, len(one.want) > 0, effect == history.EffectWrote, one.what)
	}
	require.NoError(t, rdb.Append(t.Context(), "units", "0").Err()) // without a look
	l.around(rdb, "append", "units", "0")
	_, _, err := l.ledger.Writes(t.Context())
	assert.ErrorContains(t, err, `the stock after "append units 0" is unknown`)
}

// A looker that cannot look reports why, and its commands are carried out all the same.
func TestLookerReportsALostServer(t *testing.T) {
	backendtest.Require(t)
	server, stop, _ := backendtest.Restartable(t)
	l, rdb := newLooker(t, server)
	stop()
	got := l.around(rdb, "set", "lock", "t")
	assert.NotEmpty(t, got[0].Err)
	assert.NotEqual(t, history.Looked, got[0].Source)
	assert.ErrorContains(t, l.Err(), `look at [units lock]`)
	_, err := NewLedger(t.Context(), rdb, Shelf{})
	assert.ErrorContains(t, err, "read the server's commands")
}

// Each command that affected the stock or a lock is shown in its turn, with the names of the holders.
func TestLookerShowsCommands(t *testing.T) {
	backendtest.Require(t)
	l, rdb := newLooker(t, backendtest.StartRedis(t))
	l.locks = []Lock{{Key: Key{Name: "lock"}, Rest: KeyState{Kind: "none"}}}
	var all []*Sight
	l.Saw = func(s *Sight) { all = append(all, s) }
	l.around(rdb, "zadd", "lock", "1", "anna")
	l.around(rdb, "ping")
	l.around(rdb, "zadd", "lock", "2", "bert")
	l.AwaitTurn()
	require.Len(t, all, 2)
	assert.Equal(t, []string{"zadd", "lock", "2", "bert"}, all[1].Args)
	assert.Equal(t, []history.Command{{Key: "lock", Source: history.Looked,
		Effect: history.EffectAcquired | history.Beside | history.Endless}}, all[1].Effects)
	assert.Equal(t, []bool{false}, all[1].Stepped)
	assert.Equal(t, []string{"anna"}, all[1].Before["lock"])
	assert.ElementsMatch(t, []string{"anna", "bert"}, all[1].After["lock"])
}
