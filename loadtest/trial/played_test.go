package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// While another order holds the lock, the looks of one that waits are its tries.
func TestMarkOfAWaiterThatLooks(t *testing.T) {
	f := forge.Begin()
	f.Passport.Tries = forge.Shapes("get lock")
	p, s := newPlayedLine(f.Bench), rig.Scene{}
	line, err := schedule.ParseLine("a>acquire")
	require.NoError(t, err)
	catches := func(c record.Observation) bool {
		return p.trapAt(line[0], s).Is(&wire.Command{Seen: c.Seen})
	}
	assert.True(t, catches(f.Acquire(0)))
	look := f.Command(0, history.EffectTried, "get", forge.LockKey)
	assert.False(t, catches(look), "nothing keeps it from its acquire")
	s.Held = []*rig.Held{{Trap: &rig.CommandTrap{}, Reply: true, Since: time.Now(),
		Order: f.Pair.Shop.NewOrder("bert", shop.AtB, history.Buy).InFlight}}
	assert.True(t, catches(look))
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

// A customer whose order takes longer to ask for the lock than a move lasts has not come. Others may be kept waiting
// within their instance.
func TestCustomerWhoDidNotCome(t *testing.T) {
	f := forge.Begin()
	p := newPlayedLine(f.Bench)
	order := f.Pair.Shop.NewOrder("clara", shop.AtA, history.Buy)
	order.Sent = f.After(10)
	s, m := rig.Scene{Order: order.InFlight}, schedule.Move{Who: 2}
	require.NoError(t, p.Stuck(m, s, nil))
	f.Passport.Lead = 3 * time.Second
	require.ErrorContains(t, p.Stuck(m, s, nil), "Clara did not try to acquire the lock within ")
	f.Passport.Locks = nil
	assert.NoError(t, p.Stuck(m, s, nil))
}
