package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
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
