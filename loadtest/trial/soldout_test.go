package trial

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// An order for an empty shelf shows the sold-out answer. A shop that writes has oversold, which its trial shows; an
// answer like that of a sale without a write cannot be told from a sale.
func TestAnswerOfEmptyShelf(t *testing.T) {
	for _, one := range []struct {
		what     string
		outcome  history.Outcome
		status   int
		writes   func(f *forgery) []written
		commands func(f *forgery) []observation
		known    bool
		err      string
	}{
		{"refused", history.Busy, 409, nil, nil, true, ""},
		{"refused under the lock", history.Busy, 409, nil,
			func(f *forgery) []observation { return []observation{f.tried(5), f.acquire(10), f.read(20)} }, true, ""},
		{"refused because the lock is taken", history.Busy, 409, nil,
			func(f *forgery) []observation { return []observation{f.tried(10)} }, false, ""},
		{"refused by a rate limit", history.Busy, 429, nil, nil, false, ""},
		{"failed", history.Unknown, 500, nil, nil, false, ""},
		{"oversold", history.Sold, 200,
			func(f *forgery) []written { return []written{f.wrote(30, atA, 0, -1, true)} }, nil, false, ""},
		{"answered like a sale", history.Sold, 200, nil, nil, false,
			`an order for an empty shelf was answered 200 {"ok":0}, like a sale: give what the body of a sale matches: --sold`},
		{"put back, and answered like a sale", history.Sold, 200, func(f *forgery) []written {
			return []written{f.wrote(30, atA, 0, -1, true), f.wrote(31, atA, -1, 0, true)}
		}, nil, false, "like a sale"},
	} {
		f := forge()
		o := f.order("empty", atA, one.outcome, 0, 40)
		o.Op.Status, o.Op.Detail = one.status, `{"ok":0}`
		var writes []written
		var commands []observation
		if one.writes != nil {
			writes = one.writes(f)
		}
		if one.commands != nil {
			commands = one.commands(f)
		}
		answer, err := f.answerOfEmpty(o, take(writes), commands)
		if assert.Equal(t, one.known, answer != nil, one.what); answer != nil {
			assert.Equal(t, history.Answer{Status: one.status, Body: `{"ok":0}`}, *answer)
		}
		if one.err == "" {
			assert.NoError(t, err, one.what)
		} else {
			assert.ErrorContains(t, err, one.err, one.what)
		}
	}
}

// The passport says that a refused order leaves its lock held after its answer.
func TestLockThatStaysHeld(t *testing.T) {
	backendtest.Require(t)
	f := forge()
	rdb, ok := backendtest.Client(t, backendtest.StartRedis(t)).(*redis.Client)
	require.True(t, ok)
	f.ctx, f.passport.TTL = t.Context(), 200*time.Millisecond
	var err error
	f.ledger, err = wire.NewLedger(t.Context(), rdb, f.shelf())
	require.NoError(t, err)
	t.Cleanup(f.ledger.Close)
	f.passport.locks[0].Rest = wire.KeyState{Kind: "none"}
	f.lookAt(f.passport.locks)
	assert.False(t, f.staysHeld(), "it is free")
	require.NoError(t, rdb.Set(t.Context(), lockKey, "a token", 0).Err())
	assert.True(t, f.staysHeld())
	assert.NotContains(t, f.passport.String(), "kept by")
	f.passport.KeptSoldOut = true
	assert.Contains(t, f.passport.String(), "; released by a script, but kept by an order that is refused as sold out; ")
}
