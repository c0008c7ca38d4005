package sale

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// The commands of a sale have the numbers of cells and the marks of lines.
func TestSaleOfPassport(t *testing.T) {
	script := "return redis.call('GET', KEYS[1]) == ARGV[1]\nand redis.call('DEL', KEYS[1])"
	acquire, release := Shape{Verb: "set", On: Lock}, Shape{Verb: "eval", On: Lock}
	p := &Passport{Acquires: Shapes{acquire: true}, Releases: Shapes{release: true}}
	for _, s := range []struct {
		shape   Shape
		sent    string
		effects []history.Effect
	}{
		{acquire, "SET lock token NX PX 2000", []history.Effect{history.EffectAcquired}},
		{Shape{Verb: "incr"}, "INCR orders", nil},
		{Shape{Verb: "get", On: Stock}, "GET stock", []history.Effect{history.EffectRead}},
		{Shape{Verb: "exec"}, "SET stock 99", []history.Effect{history.EffectWrote}},
		{Shape{Verb: "get", On: Lock}, "GET lock", []history.Effect{history.EffectTried}},
		{release, "", []history.Effect{history.EffectReleased}},
		{Shape{Verb: "publish"}, "PUBLISH freed 1", nil},
	} {
		one := Step{Shape: s.shape, Args: strings.Fields(s.sent)}
		if s.sent == "" {
			one.Args = []string{"EVAL", script, "1", "lock", "token"}
		}
		if one.Shape.Verb == "exec" {
			one.Queued = [][]string{one.Args, {"INCR", "sold"}}
		}
		for _, e := range s.effects {
			one.Effects = append(one.Effects, history.Command{Source: history.Looked, Effect: e})
		}
		p.Steps = append(p.Steps, one)
	}
	assert.Equal(t, []Command{
		{1, "a>acquire", "SET lock token NX PX 2000", "acquires the lock"},
		{2, "a>2", "INCR orders", ""},
		{3, "a>read", "GET stock", "reads the stock"},
		{4, "a>write", "MULTI; SET stock 99; INCR sold; EXEC", "writes the stock"},
		{5, "a>release", "GET lock", "reads the lock"},
		{6, "a>release2", "EVAL return redis.call('GET', KEYS[1]) == ARGV[1] and… 1 lock token", "releases the lock"},
		{7, "a>7", "PUBLISH freed 1", ""},
	}, p.Commands())
}
