package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// What an instance sends while its only order waits for a held reply is sent in the background, unless it renews the
// lock, or sales send it as often.
func TestBackgroundCommands(t *testing.T) {
	f := forge.Begin()
	p := f.Passport
	// a reaper's command may come during a sale
	p.Steps = []sale.Step{{Shape: forge.Shape("incr")}, {Shape: forge.Shape("zrangebyscore")}}
	commands := []record.Observation{f.Unseen(5, "keys", "*"), f.Command(10, history.EffectRenewed, "pexpire", forge.LockKey),
		f.Unseen(20, "incr", "orders"), f.Unseen(30, "scan", "0"), f.Unseen(35, "ttl", forge.LockKey), f.Write(40),
		f.Unseen(50, "zrangebyscore", "ends"), f.Unseen(60, "zrangebyscore", "ends"), f.Unseen(99, "exists", "alive")}
	watchBackground(f.Bench, commands, f.After(8), f.After(90))
	assert.Equal(t, forge.Shapes("scan", "ttl lock", "zrangebyscore"), p.Background)
	p.Background, p.Every = nil, time.Second
	watchBackground(f.Bench, commands, f.After(8), f.After(90))
	assert.Equal(t, forge.Shapes("scan", "zrangebyscore"), p.Background, "a renewal may read the lock first")
}

// A shop is named after its own file, if the command line has one, and not after its interpreter.
func TestNameOfShop(t *testing.T) {
	for want, argv := range map[string][]string{
		"shop.py":  {"/usr/bin/python3", "-u", inPython, "right"},
		"shop.js":  {"env", "NODE_PATH=testdata", "node", inNode},
		"shop":     {"/opt/shop", "--port={port}", "testdata"},
		"stockapi": {"stockapi"},
	} {
		assert.Equal(t, want, (&shop.Shop{Options: shop.Options{Argv: argv}}).Name())
	}
}

// An order that waits for a held reply sends nothing until that arrives.
func TestHeldOrdersAreBlocked(t *testing.T) {
	f := forge.Begin()
	anna, bert := f.Order("anna", shop.AtA, history.Unknown, 0, 0), f.Order("bert", shop.AtA, history.Unknown, 0, 0)
	held := []*rig.Held{{Trap: &rig.CommandTrap{}, Order: anna.InFlight, Reply: true},
		{Trap: &rig.CommandTrap{}, Order: bert.InFlight}}
	block(f.Bench, held, f.After(10))
	block(f.Bench, held, f.After(20))
	assert.True(t, anna.Blocked.Has(f.After(15)))
	assert.False(t, anna.Blocked.Has(f.After(5)))
	assert.Zero(t, bert.Blocked, "its command waits, and it may send another")
}
