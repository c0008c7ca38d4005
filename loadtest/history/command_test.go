package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// does lists the effects of a command, in words.
func does(c history.Command) string {
	var words []string
	for _, one := range []struct {
		word string
		is   bool
	}{
		{"acquires", c.Acquires()},
		{"alone", c.AcquiresAlone()},
		{"renews", c.Renews()},
		{"prolongs", c.Prolongs()},
		{"releases", c.Releases()},
		{"reads", c.ReadsStock()},
		{"writes", c.WritesStock()},
		{"lock", c.OnLock()},
		{"fault", c.Fault()},
		{"woken", c.Woken()},
	} {
		if one.is {
			words = append(words, one.word)
		}
	}
	return strings.Join(words, " ")
}

// Every command that a rung sends, and the others that docs/contract.md names.
func TestCommandEffectsByName(t *testing.T) {
	const lock, stock, node = "DistributedLock_p", "ProductStock_p", "/stockapi/ephemeral/DistributedLock_p/lock"
	const place = "/stockapi/sequential/DistributedLock_p/_c_5f-0000000007"
	for _, c := range []struct{ cmd, key, does string }{
		{"set", lock, "acquires alone lock"},
		{"setnx", lock, "acquires alone lock"},
		{"expire", lock, "prolongs lock"},
		{"pexpire", lock, "prolongs lock"},
		{"get", lock, ""},
		{"del", lock, "releases lock"},
		{"unlink", lock, "releases lock"},
		{"getdel", lock, "releases lock"},
		{"eval:acquire", lock, "acquires alone lock"},
		{"eval:acquire-reentrant", lock, "acquires alone lock"},
		{"eval:acquire-fair", lock, "acquires alone lock"},
		{"eval:acquire-write", lock, "acquires alone lock"},
		{"eval:acquire-read", lock, "acquires lock"},
		{"eval:acquire-permit", lock, "acquires lock"},
		{"eval:renew", lock, "renews prolongs lock"},
		{"eval:renew-or-recreate", lock, "renews prolongs lock"},
		{"eval:renew-reentrant", lock, "renews prolongs lock"},
		{"eval:release", lock, "releases lock"},
		{"eval:release-reentrant", lock, "releases lock"},
		{"eval:release-fair", lock, "releases lock"},
		{"eval:leave-fair", lock, ""},
		{"sql:acquire", lock, "acquires alone lock"},
		{"sql:renew", lock, "renews prolongs lock"},
		{"sql:release", lock, "releases lock"},
		{"zk:create", node, "acquires alone lock"},
		{"zk:create", place, "acquires alone"},
		{"zk:delete", node, "releases lock"},
		{"zk:delete", place, "releases"},
		{"zk:watch", node, ""},
		{"zk:check", node, ""},
		{"zk:exists", node, ""},
		{"zk:children", "/stockapi/sequential/DistributedLock_p", ""},
		{"zk:container", "/stockapi/ephemeral", ""},
		{"zk:sync", node, ""},
		{"get", stock, "reads"},
		{"watch", stock, "reads"},
		{"set", stock, "acquires alone writes"},
		{"eval:read", stock, "reads"},
		{"eval:write", stock, "writes"},
		{"eval:take", stock, "writes"},
		{"decr", stock, "writes"},
		{"decrby", stock, "writes"},
		{"incrby", stock, "writes"},
		{"fault", "hold@before:set/stock", "fault"},
		{"woken", lock, "woken"},
		{"", "", ""},
	} {
		assert.Equal(t, c.does, does(history.Command{Cmd: c.cmd, Key: c.key}), "%s %s", c.cmd, c.key)
	}
	assert.True(t, (&history.Command{Cmd: "eval:acquire-permit", Reply: "1"}).AcquiresAlone())
	assert.False(t, (&history.Command{Cmd: "eval:acquire-permit", Reply: "2"}).AcquiresAlone())
}

// An observed effect decides, whatever the name, the key, the reply and the error.
func TestCommandEffectsObserved(t *testing.T) {
	for effect, want := range map[history.Effect]string{
		history.EffectTried:                                       "acquires alone lock",
		history.EffectAcquired:                                    "acquires alone lock succeeded",
		history.EffectAcquired | history.Endless:                  "acquires alone lock succeeded endless",
		history.EffectAcquired | history.Beside:                   "acquires lock succeeded",
		history.EffectAcquired | history.Beside | history.Endless: "acquires lock succeeded endless",
		history.EffectRenewed:                                     "prolongs lock succeeded",
		history.EffectRenewed | history.Endless:                   "prolongs lock succeeded endless",
		history.EffectReleased:                                    "releases lock succeeded",
		history.EffectRead:                                        "reads succeeded",
		history.EffectWrote:                                       "writes succeeded wrote",
		history.EffectRefused:                                     "writes refused",
		history.EffectNothing:                                     "",
	} {
		for _, name := range []string{"set", "get", "del", "setnx", "eval", "eval:acquire", "eval:renew", "decr"} {
			for _, c := range []history.Command{
				{Cmd: name, Key: "lock:stock:1", Reply: "nil"}, {Cmd: name, Key: "ProductStock_1", Reply: "1"},
				{Cmd: name, Key: "k", Err: "i/o timeout"}, {Cmd: name, Key: "k", Err: "STALE a newer token has been seen"},
			} {
				c.Source, c.Effect = history.Looked, effect
				is := does(c)
				assert.False(t, c.Lost(), "%s: %+v", effect, c)
				for _, one := range []struct {
					word string
					is   bool
				}{
					{"succeeded", c.Succeeded()}, {"endless", c.Endless()},
					{"wrote", c.Wrote()}, {"refused", c.Refused() && c.RefusedByStock()},
				} {
					if one.is {
						is = strings.TrimSpace(is + " " + one.word)
					}
				}
				assert.Equal(t, want, is, "%s: %+v", effect, c)
			}
		}
	}
}

func TestReplyShowsSuccess(t *testing.T) {
	for reply, done := range map[string]bool{
		"OK": true, "ok": true, "true": true, "1": true, "2": true, "false": false, "0": false, "-1": false, "-30001": false,
		"nil": false, "": false, "zk: node already exists": false, "6f7f3a": false,
	} {
		c := history.Command{Cmd: "set", Reply: reply}
		assert.Equal(t, done, c.Succeeded(), reply)
		c.Source = history.ReplyLost
		assert.False(t, c.Succeeded(), reply)
	}
	// GETDEL replies with the value that it removed.
	for reply, done := range map[string]bool{"6f7f3a": true, "0": true, "false": true, "nil": false, "": false} {
		assert.Equal(t, done, (&history.Command{Cmd: "getdel", Reply: reply}).Succeeded(), reply)
	}
}

// A server that refused has done nothing; without a reply, and after half a script, the effect is unknown.
func TestRefusedIsNotLost(t *testing.T) {
	for _, one := range []struct{ cmd, err, is string }{
		{"set", "", ""},
		{"eval:acquire", "NOSCRIPT No matching script. Please use EVAL.", "refused"},
		{"eval:write", "STALE a newer token has been seen", "refused"},
		{"set", "redis: transaction failed", "refused"},
		{"set", "ERR syntax error", "refused"},
		{"eval:acquire", "ERR user_script:7: attempt to index nil", "lost"},
		{"eval:acquire", "WRONGTYPE Operation against a key script: 6f7f3a, on @user_script:1.", "lost"},
		{"set", "i/o timeout", "lost"},
		{"set", "EOF", "lost"},
	} {
		c := history.Command{Cmd: one.cmd, Err: one.err, Source: history.SourceOf(one.cmd, one.err)}
		is := map[bool]string{true: "refused"}[c.Refused()] + map[bool]string{true: "lost"}[c.Lost()]
		assert.Equal(t, one.is, is, one.err)
	}
}

// An effect is words in a file, and any other word is refused.
func TestEffectIsWrittenInWords(t *testing.T) {
	for effect, words := range map[history.Effect]string{
		history.EffectNothing: "",
		history.EffectTried:   "acquires",
		history.EffectAcquired | history.Beside | history.Endless: "acquires done beside endless",
		history.EffectWrote: "writes done wrote",
	} {
		text, err := effect.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, words, string(text))
		read := history.EffectRefused
		require.NoError(t, read.UnmarshalText(text))
		assert.Equal(t, effect, read)
	}
	assert.ErrorContains(t, new(history.Effect).UnmarshalText([]byte("acquires doen")), `there is no effect "doen"`)
}
