package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// A late command belongs to the order that ended as long before as orders do, whichever is at work.
func TestLateCommandsAreThoseOfEarlierOrders(t *testing.T) {
	f := Begin()
	timed := f.Del(0)
	f.Passport.Late = map[sale.Kind]sale.LateCommand{sale.KindOf(&timed.Seen): {After: 200 * time.Millisecond, Only: true}}
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 100)
	refused := f.Order("refused", shop.AtA, history.Busy, 50, 90)
	bert := f.Order("bert", shop.AtA, history.Sold, 250, 600)
	record := map[*shop.Order][]Observation{}
	f.attribute(shop.AtA, []Observation{f.Acquire(10), f.Release(95), f.Tried(60), f.Acquire(260), f.Del(305), f.Write(500),
		f.Release(590), f.Del(870), f.Del(3000)}, record)
	came := map[*shop.Order][]time.Time{}
	for o, commands := range record {
		for _, c := range commands {
			if c.Name == "del" {
				came[o] = append(came[o], c.Came)
			}
		}
	}
	assert.Equal(t, []time.Time{f.After(305)}, came[anna])
	assert.Empty(t, came[refused])
	assert.Equal(t, []time.Time{f.After(870)}, came[bert], "a timer is late on a busy machine")
	assert.Equal(t, []time.Time{f.After(3000)}, came[nil], "of an order of another cell")
}

// Commands are late commands if they came once after each order, after about the same time.
func TestLateCommandsComeAgain(t *testing.T) {
	at := func(ms int) sale.LateCommand { return sale.LateCommand{After: time.Duration(ms) * time.Millisecond} }
	assert.True(t, isLike(at(200), at(240)))
	assert.False(t, isLike(at(200), at(500)))
	assert.False(t, isLike(at(200), sale.LateCommand{}), "it came twice, or not at all")
}
