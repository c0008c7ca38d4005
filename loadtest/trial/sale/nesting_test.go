package sale

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// What a lock guards is what a sale does while it holds it. Keys that are alike, or released in the order of their
// acquires, guard nothing of each other's.
func TestNestedLocks(t *testing.T) {
	type effect struct {
		key  string
		what history.Effect
	}
	passport := func(keys []string, effects ...effect) *Passport {
		p := &Passport{}
		var locks []wire.Lock
		for _, key := range keys {
			locks = append(locks, wire.Lock{Key: wire.Key{Name: key}})
		}
		p.SetKeys(locks)
		for _, e := range effects {
			p.Steps = append(p.Steps, Step{Effects: []history.Command{
				{Source: history.Looked, Reply: "OK", Key: e.key, Effect: e.what}}})
		}
		return p
	}
	const take, free, read = history.EffectAcquired, history.EffectReleased, history.EffectRead
	nested := func(outer, inner string) *Passport {
		return passport([]string{inner, outer}, effect{outer, take}, effect{inner, take}, effect{"stock", read},
			effect{inner, free}, effect{outer, free})
	}
	assert.Equal(t, []string{"`product` guards the stock", "`user` guards `product` and the stock"},
		nested("user", "product").nesting())
	assert.Empty(t, nested("node1", "node2").nesting())
	assert.Empty(t, passport([]string{"a", "b"}, effect{"a", take}, effect{"b", take}, effect{"stock", read},
		effect{"a", free}, effect{"b", free}).nesting())
}
