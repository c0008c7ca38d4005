package handlers

import (
	"container/list"
	"context"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"stockapi/internal/sale"
)

// Outcomes of an order in GET /orders/{order}. The other two, not-sold and unknown, are those of problems.
const (
	sold    = "sold"
	refused = "refused" // fewer units were left than it asked for
	busy    = "busy"    // another order held the lock
	pending = "pending" // it is in flight
)

// orderStatus is the answer of GET /orders/{order}.
type orderStatus struct {
	Order    string      `json:"order"`
	Outcome  string      `json:"outcome"`
	Product  string      `json:"product"`
	Quantity int64       `json:"quantity"`
	Units    []int64     `json:"units,omitempty"`
	Left     *int64      `json:"left,omitempty"`
	Items    []sale.Item `json:"items,omitempty"`
	SoldBy   string      `json:"sold_by,omitempty"` // the order under whose lease this one was served
	Instance string      `json:"instance"`
}

// An orderRecord holds the outcome of an order, or of several orders with one name. The units follow from left and
// quantity.
type orderRecord struct {
	id       string
	outcome  string
	product  string
	quantity int64
	left     int64
	items    []sale.Item // without their units
	soldBy   string      // the order under whose lease it was served, if it was another's

	times     int  // how many orders had that name
	underWay  int  // how many of them are in flight
	maybeSold bool // whether one of them sold, or may have

	over *list.Element // its place among those that have ended, or nil
}

// outcomes keeps the outcomes of the last orders, for clients whose answer was lost. It also keeps every order in
// flight, which are no more than the open requests.
type outcomes struct {
	most int // how many orders that have ended to keep

	mu   sync.Mutex
	byID map[string]*orderRecord
	over list.List // of the records that have ended, the oldest first
}

// newOutcomes returns outcomes that keep the latest orders that have ended, up to most, or nil if most is 0.
func newOutcomes(most int) *outcomes {
	if most <= 0 {
		return nil
	}
	return &outcomes{most: most, byID: map[string]*orderRecord{}}
}

// recordOutcome wraps sell: it records the outcome of each order, also if the client has gone. If sell panics, the
// outcome is unknown.
func (s *server) recordOutcome(
	sell func(context.Context, string, sale.Order) (sale.Receipt, error),
) func(context.Context, string, sale.Order) (sale.Receipt, error) {
	if s.orders == nil {
		return sell
	}
	return func(ctx context.Context, rung string, o sale.Order) (receipt sale.Receipt, err error) {
		r, outcome := s.orders.begin(o), unknown
		defer func() { s.orders.end(r, outcome, receipt) }()
		receipt, err = sell(ctx, rung, o)
		outcome = outcomeOf(withClientGone(ctx, err))
		return receipt, err
	}
}

// outcomeOf returns the outcome of an order that ended with err.
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

// begin records that an order is in flight.
func (m *outcomes) begin(o sale.Order) *orderRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byID[o.ID]
	if r == nil {
		r = &orderRecord{id: o.ID}
		m.byID[o.ID] = r
	}
	if r.over != nil {
		m.over.Remove(r.over)
		r.over = nil
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

// end records the outcome of an order. If two orders have one name and one of them may have sold, the outcome of both
// is unknown: a client that asks by name means one of them, and must not get the outcome of the other.
func (m *outcomes) end(r *orderRecord, outcome string, receipt sale.Receipt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.maybeSold = r.maybeSold || outcome == sold || outcome == unknown
	r.outcome = outcome
	if r.times > 1 && r.maybeSold {
		r.outcome = unknown
	}
	r.soldBy = receipt.SoldBy
	if r.times > 1 { // it may not be the one that is meant
		r.soldBy = ""
	}
	if outcome == sold {
		r.quantity, r.left, r.items = receipt.Quantity, receipt.Left, withoutUnits(receipt.Items)
	}
	if r.underWay--; r.underWay > 0 {
		return
	}
	r.over = m.over.PushBack(r)
	if m.over.Len() > m.most {
		oldest := m.over.Remove(m.over.Front()).(*orderRecord)
		delete(m.byID, oldest.id)
	}
}

// lookup returns the status of an order.
func (m *outcomes) lookup(id string) (t orderStatus, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.byID[id]
	if !ok {
		return orderStatus{}, false
	}
	t = orderStatus{Order: id, Outcome: r.outcome, Product: r.product, Quantity: r.quantity}
	switch {
	case r.underWay > 0:
		t.Outcome = pending
		return t, true
	case r.outcome == sold:
		left := r.left
		t.Left, t.Units = &left, sale.Units(left, r.quantity)
		for _, item := range r.items {
			item.Units = sale.Units(item.Left, item.Quantity)
			t.Items = append(t.Items, item)
		}
	}
	t.SoldBy = r.soldBy
	return t, true
}

func withoutUnits(items []sale.Item) (bare []sale.Item) {
	for _, item := range items {
		item.Units = nil
		bare = append(bare, item)
	}
	return bare
}

// order serves GET /orders/{order}: the outcome of an order that this instance served.
func (s *server) order(c *gin.Context) {
	id := c.Param("order")
	if !IsName(id) {
		s.failAdmin(c, badInput("an order's name is 1 to 64 letters, digits, _ or -"))
		return
	}
	t, ok := s.orders.lookup(id)
	if !ok {
		s.failPlain(c, "unknown-order", "this instance has served no order of that name, or has forgotten it")
		return
	}
	t.Instance = s.Instance
	sendJSON(c, http.StatusOK, t)
}
