package handlers

import (
	"container/list"
	"context"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"stockapi/internal/sale"
)

// The outcomes of an order, as GET /orders/{order} tells them. The other two are those of problems: not-sold and unknown.
const (
	sold    = "sold"
	refused = "refused" // less was left than was asked for
	busy    = "busy"    // somebody else held the lock
	pending = "pending" // it is under way
)

// told is what is told of an order. Its units are the contiguous ones above what was left, and so need no memory.
type told struct {
	Order    string      `json:"order"`
	Outcome  string      `json:"outcome"`
	Product  string      `json:"product"`
	Quantity int64       `json:"quantity"`
	Units    []int64     `json:"units,omitempty"`
	Left     *int64      `json:"left,omitempty"`
	Items    []sale.Item `json:"items,omitempty"`
	Instance string      `json:"instance"`
}

// remembered is an order, or several that were sent under one name.
type remembered struct {
	id       string
	outcome  string
	product  string
	quantity int64
	left     int64
	items    []sale.Item // without their units

	times    int  // how many orders had that name
	underWay int  // how many of them are not over
	mayHave  bool // whether one of them sold, or nobody knows
	place    *list.Element
}

// A memory remembers what became of the last orders, for clients whose answer got lost. An order that is under way is not
// forgotten: there are no more of those than requests.
type memory struct {
	most int

	mu   sync.Mutex
	byID map[string]*remembered
	over *list.List // of *remembered, the one that ended first at the front
}

// newMemory returns a memory of so many orders that are over; nil for none, which remembers nothing.
func newMemory(most int) *memory {
	if most <= 0 {
		return nil
	}
	return &memory{most: most, byID: map[string]*remembered{}, over: list.New()}
}

// remembering sells, and remembers what came of it, whether or not anybody waits for the answer. A sale that panicked
// leaves behind that its outcome is unknown.
func (s *server) remembering(
	sell func(context.Context, string, sale.Order) (sale.Receipt, error),
) func(context.Context, string, sale.Order) (sale.Receipt, error) {
	if s.orders == nil {
		return sell
	}
	return func(ctx context.Context, rung string, o sale.Order) (receipt sale.Receipt, err error) {
		r, outcome := s.orders.begin(o), unknown
		defer func() { s.orders.end(r, outcome, receipt) }()
		receipt, err = sell(ctx, rung, o)
		outcome = outcomeOf(orGone(ctx, err))
		return receipt, err
	}
}

// outcomeOf returns what became of an order that ended so.
func outcomeOf(err error) string {
	if err == nil {
		return sold
	}
	switch name := problemOf(err); name {
	case "sold-out":
		return refused
	case "lock-busy":
		return busy
	default:
		return problems[name].Outcome
	}
}

// begin remembers that an order is under way.
func (m *memory) begin(o sale.Order) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byID[o.ID]
	if r == nil {
		r = &remembered{id: o.ID}
		m.byID[o.ID] = r
	}
	if r.place != nil {
		m.over.Remove(r.place)
		r.place = nil
	}
	r.times++
	r.underWay++
	if r.times == 1 {
		r.product, r.quantity = o.Product, o.Quantity
		if len(o.Items) > 0 {
			r.product, r.quantity = o.Items[0].Product, o.Items[0].Quantity
		}
	}
	return r
}

// end remembers what became of it. Two orders of one name are told as one of unknown outcome, unless neither can have
// sold: whoever asks means one of them and cannot say which, and to be told the other's outcome would be wrong.
func (m *memory) end(r *remembered, outcome string, receipt sale.Receipt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.mayHave = r.mayHave || outcome == sold || outcome == unknown
	r.outcome = outcome
	if r.times > 1 && r.mayHave {
		r.outcome = unknown
	}
	if outcome == sold {
		r.quantity, r.left, r.items = receipt.Quantity, receipt.Left, withoutUnits(receipt.Items)
	}
	if r.underWay--; r.underWay > 0 {
		return
	}
	r.place = m.over.PushBack(r)
	if m.over.Len() > m.most {
		first := m.over.Remove(m.over.Front()).(*remembered) //nolint:forcetypeassert // nothing else is in it
		delete(m.byID, first.id)
	}
}

// tell returns what is known of an order.
func (m *memory) tell(id string) (t told, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.byID[id]
	if !ok {
		return told{}, false
	}
	t = told{Order: id, Outcome: r.outcome, Product: r.product, Quantity: r.quantity}
	switch {
	case r.underWay > 0:
		t.Outcome = pending
	case r.outcome == sold:
		left := r.left
		t.Left, t.Units = &left, unitsAbove(left, r.quantity)
		for _, item := range r.items {
			item.Units = unitsAbove(item.Left, item.Quantity)
			t.Items = append(t.Items, item)
		}
	}
	return t, true
}

func withoutUnits(items []sale.Item) (bare []sale.Item) {
	for _, item := range items {
		item.Units = nil
		bare = append(bare, item)
	}
	return bare
}

// unitsAbove returns the serial numbers of the units that an order sold.
func unitsAbove(left, quantity int64) []int64 {
	units := make([]int64, quantity)
	for i := range units {
		units[i] = left + 1 + int64(i)
	}
	return units
}

// order serves GET /orders/{order}: what became of it, as far as this instance knows.
func (s *server) order(c *gin.Context) {
	id := c.Param("order")
	if !orderPattern.MatchString(id) {
		s.failAdmin(c, badInput("an order's name is 1 to 64 letters, digits, _ or -"))
		return
	}
	t, ok := s.orders.tell(id)
	if !ok {
		s.plain(c, "unknown-order", "this instance has served no order of that name, or has forgotten it")
		return
	}
	t.Instance = s.Instance
	c.JSON(http.StatusOK, t)
}
