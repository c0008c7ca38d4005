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
	f := forge()
	timed := f.del(0)
	f.passport.Late = map[sale.Kind]sale.LateCommand{sale.KindOf(&timed.Seen): {After: 200 * time.Millisecond, Only: true}}
	anna := f.order("anna", shop.AtA, history.Sold, 0, 100)
	refused := f.order("refused", shop.AtA, history.Busy, 50, 90)
	bert := f.order("bert", shop.AtA, history.Sold, 250, 600)
	record := map[*shop.Order][]observation{}
	f.attribute(shop.AtA, []observation{f.acquire(10), f.release(95), f.tried(60), f.acquire(260), f.del(305), f.write(500),
		f.release(590), f.del(870), f.del(3000)}, record)
	came := map[*shop.Order][]time.Time{}
	for o, commands := range record {
		for _, c := range commands {
			if c.Name == "del" {
				came[o] = append(came[o], c.Came)
			}
		}
	}
	assert.Equal(t, []time.Time{f.after(305)}, came[anna])
	assert.Empty(t, came[refused])
	assert.Equal(t, []time.Time{f.after(870)}, came[bert], "a timer is late on a busy machine")
	assert.Equal(t, []time.Time{f.after(3000)}, came[nil], "of an order of another cell")
}

// Commands are late commands if they came once after each order, after about the same time.
func TestLateCommandsComeAgain(t *testing.T) {
	at := func(ms int) sale.LateCommand { return sale.LateCommand{After: time.Duration(ms) * time.Millisecond} }
	assert.True(t, isLike(at(200), at(240)))
	assert.False(t, isLike(at(200), at(500)))
	assert.False(t, isLike(at(200), sale.LateCommand{}), "it came twice, or not at all")
}
