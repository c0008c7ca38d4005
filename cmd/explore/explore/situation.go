package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/loadtest/schedule"
)

// A Situation defines what the clients order, and what they find. In the usual one, which has no name, each orders one
// unit and the lock is free. The others test what some rungs promise beyond that.
type Situation struct {
	Name  string
	Does  string
	Rungs []string // that it applies to
}

// The names of the situations.
const (
	queue       = "queue"
	nested      = "nested"
	again       = "again"
	twoProducts = "two-products"
	readers     = "readers"
)

// Situations lists the situations.
var Situations = []Situation{
	{queue, "a dead holder holds the lock until it expires, and both wait", strings.Fields("v8 v18 v19")},
	{nested, "each order takes its own lock a second time", strings.Fields("v7 v7-cached v8")},
	{again, "the caller of a orders a second time; there are two units", strings.Fields("v7 v7-cached v8")},
	{twoProducts, "each order is of two products, which a and b name in opposite orders", strings.Fields("v9 v9-naive")},
	{readers, "a sells and waits, b reads at any time; a dead reader holds the lock for a while", strings.Fields("v10")},
}

// In returns the bounds in a situation.
func (b Bounds) In(s Situation) Bounds {
	b.Situation = s.Name
	return b
}

// FindSituation returns the situation with that name. The usual one has none.
func FindSituation(name string) (Situation, bool) {
	i := slices.IndexFunc(Situations, func(s Situation) bool { return s.Name == name })
	if i < 0 {
		return Situation{}, name == ""
	}
	return Situations[i], true
}

// fits returns an error if a rung cannot be explored in the situation.
func (b Bounds) fits(r lock.Rung) error {
	s, known := FindSituation(b.Situation)
	switch {
	case !known:
		return fmt.Errorf("there is no situation %q", b.Situation)
	case s.Name != "" && !slices.Contains(s.Rungs, r.Number):
		return fmt.Errorf("the situation %s does not apply to %s", s.Name, r.Number)
	}
	return nil
}

// Units returns the initial stock of each product.
func (b Bounds) Units() int64 {
	if b.Situation == again {
		return Stocked + 1
	}
	return Stocked
}

func (w *world) isIn(situation string) bool { return w.bounds.Situation == situation }

// products returns the products of an order.
func (w *world) products() []string {
	if w.isIn(twoProducts) {
		return []string{product, "10001"}
	}
	return []string{product}
}

// ordersOf returns the number of orders of a client, one after the other.
func (w *world) ordersOf(c *client) int {
	if w.isIn(again) && c.Index == 0 {
		return 2
	}
	return 1
}

// isReader reports whether a client only reads, and tries once.
func (w *world) isReader(c *client) bool { return w.isIn(readers) && c.Index == 1 }

// mostPauses returns how often time may pass before a client begins. In the situation readers a waiting writer polls
// repeatedly, and the reader may come after each poll.
func (w *world) mostPauses() int {
	if w.isIn(readers) {
		return 10 * maxPauses
	}
	return maxPauses
}

// serve serves one order of a client.
func (w *world) serve(ctx context.Context, c *client, wait time.Duration) (sale.Receipt, error) {
	o := sale.Order{ID: c.Name, Product: product, Quantity: 1, Wait: &wait, Nested: w.isIn(nested)}
	o.TTL = leaseTTL
	if w.ordersOf(c) > 1 {
		o.Caller = 1
	}
	if names := w.products(); len(names) > 1 {
		for _, name := range names {
			o.Items = append(o.Items, stock.Item{Product: name, Quantity: 1})
		}
		if c.Index%2 == 1 {
			slices.Reverse(o.Items)
		}
	}
	if w.isReader(c) {
		wait = 0
		return c.shop.Read(ctx, w.rung.Number, o)
	}
	return c.shop.Decrease(ctx, w.rung.Number, o)
}

// deadTTL is the time until the lock of a dead holder expires. v8's waiters do not poll before.
const deadTTL = 700 * time.Millisecond

// leaveDead leaves behind the lock of a dead holder, in the situations that begin with one.
func (w *world) leaveDead() {
	var token string
	ttl := leaseTTL
	switch {
	case w.isIn(queue):
		token, ttl = "dead", deadTTL
	case w.isIn(readers):
		token = "r:dead"
	default:
		return
	}
	dead := &client{Client: schedule.Client{Index: -1, Name: "the dead holder", Dead: true}}
	for _, node := range w.nodes {
		for _, key := range w.keys {
			until := node.hold(key, w.rung.Layout, token, ttl)
			w.judge.owned[entryID(node, key, entry{id: token})] = &owned{client: dead, until: until}
		}
	}
}

// hold creates an entry for a holder of a lock, in the layout of a rung.
func (s *store) hold(key, layout, token string, ttl time.Duration) (until time.Time) {
	until = time.Now().Add(ttl)
	switch layout {
	case "hash":
		s.redis.HSet(key, token, "1")
	case "zset":
		_, _ = s.redis.ZAdd(key, float64(until.UnixMilli()), token)
	default:
		_ = s.redis.Set(key, token)
	}
	s.redis.SetTTL(key, ttl)
	return until
}
