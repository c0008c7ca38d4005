package learn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// Commands are late commands if they came once after each order, after about the same time.
func TestLateCommandsComeAgain(t *testing.T) {
	at := func(ms int) sale.LateCommand { return sale.LateCommand{After: time.Duration(ms) * time.Millisecond} }
	assert.True(t, isLike(at(200), at(240)))
	assert.False(t, isLike(at(200), at(500)))
	assert.False(t, isLike(at(200), sale.LateCommand{}), "it came twice, or not at all")
}

// Requests are classified by when they began. One without a reply, such as the close of a connection, is no moment: it
// may reach the database's link after the release has reached the Redis'.
func TestRequestsOfSale(t *testing.T) {
	f := forge.Begin()
	var pieces []rig.Piece
	piece := func(ms, order, number int, reply bool) {
		pieces = append(pieces, rig.Piece{Order: order, Number: number, Reply: reply, Began: f.After(ms)})
	}
	for k := range 6 { // one begins each 20 ms, and is answered 10 ms later
		piece(20*k, 3, k+1, false)
		piece(20*k+10, 3, k+1, true)
	}
	piece(120, 3, 7, false) // without a reply
	piece(120, 3, 0, false) // on a noisy connection
	piece(130, 4, 8, false) // of the next order
	var r sale.Requests
	// Requests 2 to 5, and the replies to 2 to 4.
	classifyRequests(&r, pieces, 3, shop.Span{From: f.After(15), To: f.After(85)})
	assert.Equal(t, sale.Requests{All: 7, Answered: 6, Before: []int{1}, Under: []int{2, 3, 4, 5}, Replies: []int{2, 3, 4},
		After: []int{6}}, r)
	r = sale.Requests{}
	classifyRequests(&r, pieces, 3, shop.Span{From: f.After(15), To: f.After(115)})
	assert.Empty(t, r.After)
}
