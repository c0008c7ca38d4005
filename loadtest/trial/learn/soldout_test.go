package learn

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// An order for an empty shelf shows the sold-out answer. A shop that writes has oversold, which its trial shows; if
// the answer is like that of a sale, the writes of the stock decide. If they are not observed, the answer has to.
func TestAnswerOfEmptyShelf(t *testing.T) {
	for _, one := range []struct {
		what     string
		outcome  history.Outcome
		status   int
		writes   func(f *forge.Forgery) []record.Written
		commands func(f *forge.Forgery) []record.Observation
		known    bool
		decide   bool // the writes of the stock decide
	}{
		{"refused", history.Busy, 409, nil, nil, true, false},
		{"refused under the lock", history.Busy, 409, nil,
			func(f *forge.Forgery) []record.Observation {
				return []record.Observation{f.Tried(5), f.Acquire(10), f.Read(20)}
			}, true, false},
		{"refused because the lock is taken", history.Busy, 409, nil,
			func(f *forge.Forgery) []record.Observation { return []record.Observation{f.Tried(10)} }, false, false},
		{"refused by a rate limit", history.Busy, 429, nil, nil, false, false},
		{"failed", history.Unknown, 500, nil, nil, false, false},
		{"oversold", history.Sold, 200,
			func(f *forge.Forgery) []record.Written {
				return []record.Written{f.Wrote(30, shop.AtA, 0, -1, true)}
			}, nil, false, false},
		{"answered like a sale", history.Sold, 200, nil, nil, false, true},
		{"put back, and answered like a sale", history.Sold, 200, func(f *forge.Forgery) []record.Written {
			return []record.Written{f.Wrote(30, shop.AtA, 0, -1, true), f.Wrote(31, shop.AtA, -1, 0, true)}
		}, nil, false, true},
	} {
		f := forge.Begin()
		o := f.Order("empty", shop.AtA, one.outcome, 0, 40)
		o.Op.Status, o.Op.Detail = one.status, `{"ok":0}`
		var writes []record.Written
		var commands []record.Observation
		if one.writes != nil {
			writes = one.writes(f)
		}
		if one.commands != nil {
			commands = one.commands(f)
		}
		answer, err := answerOfEmpty(f.Bench, o, takesUnit(writes), commands)
		if assert.Equal(t, one.known, answer != nil, one.what); answer != nil {
			assert.Equal(t, history.Answer{Status: one.status, Body: `{"ok":0}`}, *answer)
		}
		assert.NoError(t, err, one.what)
		assert.Equal(t, one.decide, f.Passport.ByWrites, one.what)
	}
	f := forge.Begin()
	f.Pair.Shop.Stock, f.Pair.Shop.Left = nil, "count"
	o := f.Order("empty", shop.AtA, history.Sold, 0, 40)
	o.Op.Status, o.Op.Detail = 200, `{"ok":0}`
	_, err := answerOfEmpty(f.Bench, o, false, nil)
	assert.ErrorContains(t, err, `an order for an empty shelf was answered 200 {"ok":0}, like a sale: give what the body `+
		"of a sale matches: --sold; if no answer shows it, judge the lock alone: --set ': {n}', without --left")
}

// The passport says that a refused order leaves its lock held after its answer.
func TestLockThatStaysHeld(t *testing.T) {
	backendtest.Require(t)
	f := forge.Begin()
	rdb, ok := backendtest.Client(t, backendtest.StartRedis(t)).(*redis.Client)
	require.True(t, ok)
	f.Pair.Context, f.Passport.TTL = t.Context(), 200*time.Millisecond
	var err error
	f.Pair.Ledger, err = wire.NewLedger(t.Context(), rdb, f.Pair.Shop.Shelf())
	require.NoError(t, err)
	t.Cleanup(f.Pair.Ledger.Close)
	f.Passport.Keys[0].Rest = wire.KeyState{Kind: "none"}
	f.Pair.LookAt(f.Passport.Keys)
	assert.False(t, staysHeld(f.Bench), "it is free")
	assert.True(t, f.BecomesFree())
	f.Passport.Keys[0].Steps = 1
	require.NoError(t, rdb.Set(t.Context(), forge.LockKey, -1, 0).Err())
	assert.False(t, staysHeld(f.Bench), "it is free")
	assert.False(t, f.BecomesFree(), "and not at rest")
	f.Passport.Keys[0].Steps = 0
	require.NoError(t, rdb.Set(t.Context(), forge.LockKey, "a token", 0).Err())
	assert.True(t, staysHeld(f.Bench))
	assert.NotContains(t, f.Passport.String(), "kept by")
	f.Passport.KeptSoldOut = true
	assert.Contains(t, f.Passport.String(), "; released by a script, but kept by an order that is refused as sold out; ")
}
