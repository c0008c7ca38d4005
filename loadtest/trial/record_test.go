package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/shop"
)

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
