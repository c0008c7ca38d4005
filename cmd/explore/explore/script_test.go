package explore

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule/search"
)

// sent returns what a server sends when a command is carried out.
func sent(s *store, args ...string) string {
	var out bytes.Buffer
	s.carryOut(server.NewPeer(bufio.NewWriter(&out)), args)
	reply, _, _ := strings.Cut(out.String(), " stack traceback")
	return reply
}

// A script sees and returns the same in the one Lua state as in those of miniredis.
func TestAScriptRunsAsInMiniredis(t *testing.T) {
	ours, err := newStore("ours", 0)
	require.NoError(t, err)
	theirs, err := newStore("theirs", 0)
	require.NoError(t, err)
	theirs.redis.Server().SetPreHook(nil)
	for _, source := range []string{
		"return 1", "return -3.7", "return 2^53", "return 'text'", "return true", "return false", "return nil", "return",
		"return {1, 'a', {true, 'b'}}", "return {1, nil, 3}", "return {}", "return #KEYS + #ARGV",
		"return redis.call('SET', KEYS[1], ARGV[1])", "return redis.call('GET', KEYS[1])",
		"return redis.call('GET', 'none')", "return redis.call('SET', KEYS[1], 'x', 'NX')",
		"redis.call('SET', 'n', 41) return redis.call('INCR', 'n')", "return redis.call('INCRBY', 'n', 2)",
		"redis.call('ZADD', 'z', '3', 'a') return redis.call('ZRANGE', 'z', 0, 0)[1]",
		"redis.call('ZADD', 'z', '4', 'b') return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')",
		"return redis.call('HSET', KEYS[1], 'f', 'v')", "return redis.pcall('HSET', KEYS[1], 'f', 'v')",
		"return redis.error_reply('STALE a newer one')",
		"return string.format('%.0f', math.floor(1234567890123 / 10))", "return redis.call('PTTL', KEYS[1])",
		"return string.find('12', '^%d+$')", "return tonumber(ARGV[2]) + 1", "return this is no Lua",
	} {
		args := []string{"EVAL", source, "1", "key", "value", "7"}
		assert.Equal(t, sent(theirs, args...), sent(ours, args...), source)
	}
	for _, source := range []string{"return redis.call('NOSUCH')", "global = 1", "return absent", "return nil + 1"} {
		for _, s := range []*store{ours, theirs} {
			assert.Regexp(t, "^-ERR ", sent(s, "EVAL", source, "0"), "%s: %s", s.Name, source)
		}
	}
	assert.Equal(t, sent(theirs, "EVALSHA", "unknown", "0"), sent(ours, "EVALSHA", "unknown", "0"))
	assert.Equal(t, sent(theirs, "EVAL", "return 1", "2", "key"), sent(ours, "EVAL", "return 1", "2", "key"))
}

func TestResultsDoNotDependOnTheLuaState(t *testing.T) {
	for _, rung := range []string{"v5-as-printed", "v7", "v8", "v10", "v11-two", "v15", "v17", "v18", "v19"} {
		var found []search.Tally
		for _, ours := range []bool{true, false} {
			p, err := newPlayer(t, rung, DefaultBounds())
			require.NoError(t, err)
			if !ours {
				p.servers.stock.redis.Server().SetPreHook(nil)
				p.servers.nodes[0].redis.Server().SetPreHook(nil)
			}
			tally, exhausted, err := p.all()
			require.NoError(t, err)
			require.True(t, exhausted, rung)
			found = append(found, *tally)
		}
		assert.Equal(t, found[1], found[0], rung)
	}
}
