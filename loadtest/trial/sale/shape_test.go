package sale

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// The role of the key, the script and the condition of a command are in its shape. A command on another field of the
// stock's hash is not on the stock, and a SET with a condition, such as a renewal, is no acquire. The text of a script
// that only one order has sent contains a value of that order.
func TestShapesOfCommands(t *testing.T) {
	of := Digest([]string{"EVAL", "known"})
	p := &Passport{Ours: map[string]bool{of: true}, Keys: []wire.Lock{{Key: wire.Key{Name: "lock"},
		Companions: []wire.Lock{{Key: wire.Key{Name: "owner"}}}}}}
	for sent, want := range map[string]Shape{
		"hset shelf 10000 4":        {Verb: "hset", On: Stock},
		"hset shelf last 10000":     {Verb: "hset"},
		"hgetall shelf":             {Verb: "hgetall", On: Stock},
		"set lock t nx px 2000":     {Verb: "set", On: Lock},
		"set lock t ifeq t px 2000": {Verb: "set", Condition: "IFEQ", On: Lock},
		"delex lock":                {Verb: "delex", On: Lock},
		"delex lock ifeq t":         {Verb: "delex", Condition: "IFEQ", On: Lock},
		"delifeq lock t":            {Verb: "delifeq", On: Lock},
		"get owner":                 {Verb: "get", On: BesideLock},
		"eval known 1 lock":         {Verb: "eval", Script: of, On: Lock},
		"eval new 1 lock":           {Verb: "eval", On: Lock},
		"fcall free 1 lock":         {Verb: "fcall", Script: "free", On: Lock},
		"ping":                      {Verb: "ping"},
	} {
		args := strings.Fields(sent)
		seen := &wire.Seen{Command: schedule.Command{Name: args[0]}, Args: args}
		assert.Equal(t, want, p.ShapeOf(seen, wire.Shelf{Key: "shelf", Field: "10000"}), sent)
		assert.Equal(t, want.On == Lock || want.On == BesideLock, want.IsOnLock(), sent)
	}
}
