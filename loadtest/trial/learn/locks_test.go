package learn

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/wire"
)

// A key is used if it is held at the write of the stock, or at the last read before that: one that is changed back
// before that read, such as the lock of a cache, is not.
func TestKeyIsHeldWhileTheStockIsUsed(t *testing.T) {
	free, held := wire.KeyState{Kind: "none"}, wire.KeyState{Kind: "string", Parts: map[string]string{"": "token"}}
	for moves, used := range map[string]bool{
		"take read write free":           true,
		"take read free write":           true,
		"read take write free":           true,
		"take free read write":           false,
		"take read free read write":      false,
		"take free read take write free": true,
		"read write take free":           false,
	} {
		c := &keyCourse{rest: &free, moved: map[string]bool{}, back: map[string]bool{}, used: map[string]bool{}}
		for move := range strings.FieldsSeq(moves) {
			one := record.Observation{}
			switch move {
			case "take":
				c.see(&free, &held)
			case "free":
				c.see(&held, &free)
			case "read":
				one.Effects = []history.Command{{Source: history.Looked, Effect: history.EffectRead}}
			default:
				one.Effects = []history.Command{{Source: history.Looked, Effect: history.EffectWrote}}
			}
			c.use(&one, c.held())
		}
		assert.Equal(t, used, c.used[""], moves)
	}
}

// Keys that have kept no order out are no lock, unless they were not held, or one of them names a time.
func TestHeldKeysThatKeepNoOrderOut(t *testing.T) {
	now := time.Now()
	state := func(value string) wire.KeyState {
		return wire.KeyState{Kind: "string", Parts: map[string]string{"": value}, At: now}
	}
	lock := func(name string) wire.Lock {
		return wire.Lock{Key: wire.Key{Name: name}, Parts: []string{""}, Rest: wire.KeyState{Kind: "none"}}
	}
	p := &sale.Passport{Held: map[wire.Key]wire.KeyState{
		{Name: "cart"}:  state("1"),
		{Name: "until"}: state(strconv.FormatInt(now.Add(2*time.Second).UnixMilli(), 10)),
		{Name: "free"}:  {},
	}}
	p.SetKeys([]wire.Lock{lock("cart"), lock("until"), lock("free")})
	assert.True(t, dropsHeld(p))
	assert.Equal(t, []string{"until", "free"}, p.Locks)
	assert.False(t, dropsHeld(p))
}

// A lock of several keys lasts as long as the one with the longest lease, and for ever if one has none.
func TestLeaseOfSeveralKeys(t *testing.T) {
	now := time.Now()
	for lease, want := range map[time.Duration]time.Duration{time.Second: 2 * time.Second,
		5 * time.Second: 5 * time.Second,
		0:               0} {
		state := wire.KeyState{Kind: "string", Parts: map[string]string{"": "token"}, At: now}
		if lease > 0 {
			state.Ends = now.Add(lease)
		}
		inner := wire.Lock{Key: wire.Key{Name: "inner"}, Parts: []string{""}, Rest: wire.KeyState{Kind: "none"}}
		p := &sale.Passport{Held: map[wire.Key]wire.KeyState{inner.Key: state}}
		p.TTL = 2 * time.Second
		take := record.Observation{Effects: []history.Command{
			{Source: history.Looked, Effect: history.EffectAcquired, Key: "inner"}}}
		take.Sent = now
		tellLonger(p, &inner, []record.Observation{take})
		assert.Equal(t, want, p.TTL, lease)
	}
}

// A lock in a key that is too large to be read would not be seen. A stream of orders is none.
func TestKeysThatAreTooLarge(t *testing.T) {
	assert.True(t, isTooLarge(wire.Lock{Rest: wire.KeyState{Kind: "hash", Opaque: true}}))
	assert.False(t, isTooLarge(wire.Lock{Rest: wire.KeyState{Kind: "stream", Opaque: true}}))
	assert.False(t, isTooLarge(wire.Lock{Rest: wire.KeyState{Kind: "hash"}}))
}

// An order that waits for the key of an earlier one takes it when the TTL has removed it, be it between the look and
// the command. Who takes it at once, or changes it, has not waited.
func TestKeyIsTakenLate(t *testing.T) {
	now := time.Now()
	free := wire.KeyState{Kind: "none", At: now}
	held := wire.KeyState{Kind: "string", At: now, Ends: now.Add(time.Second)}
	ending, again := held, held
	ending.Ends, again.Ends = now, now.Add(2*time.Second)
	type looks = [][2]wire.KeyState
	tried, took, late := [2]wire.KeyState{held, held}, [2]wire.KeyState{free, held}, [2]wire.KeyState{ending, again}
	for what, c := range map[string]struct {
		looks
		want bool
	}{
		"at once":                 {looks{took, tried}, false},
		"never":                   {looks{tried, tried}, false},
		"a new TTL":               {looks{tried, {held, again}}, false},
		"after its expiry":        {looks{tried, tried, took}, true},
		"as it expires":           {looks{tried, late}, true},
		"a command sees it gone":  {looks{tried, {free, free}, took}, true},
		"a command sees it going": {looks{tried, {ending, free}, took}, true},
	} {
		assert.Equal(t, c.want, isTakenLate(c.looks), what)
	}
}
