package trace

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/internal/stock"
)

// An Injector injects faults, and lists the orders that faults hold.
type Injector struct {
	mu   sync.Mutex
	held []*Held // oldest first
}

// A Held describes an order that a fault keeps waiting at a point.
type Held struct {
	Order string    `json:"order"`
	Point string    `json:"point"`
	Since time.Time `json:"since"`

	release chan time.Duration
}

// Held returns the held orders, sorted by name, and by age within a name.
func (i *Injector) Held() []Held {
	i.mu.Lock()
	defer i.mu.Unlock()
	list := make([]Held, 0, len(i.held))
	for _, h := range i.held {
		list = append(list, *h)
	}
	slices.SortStableFunc(list, func(a, b Held) int { return strings.Compare(a.Order, b.Order) })
	return list
}

// Release lets a held order go on after a time, and reports whether there was one. Of several orders with that name it
// releases the one held longest. A process that is stopped within that time, and continued after it, resumes with the
// order: no timer of a lease, which expires later, can cancel the order first.
func (i *Injector) Release(order string, after time.Duration) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := slices.IndexFunc(i.held, func(h *Held) bool { return h.Order == order })
	if n < 0 {
		return false
	}
	i.held[n].release <- after
	i.held = slices.Delete(i.held, n, n+1)
	return true
}

// at injects the faults of an order at this point: before or after a command on a key. A nil Injector injects none.
func (i *Injector) at(ctx context.Context, after bool, cmd, key string) {
	if i == nil {
		return
	}
	on := "lock"
	if stock.IsKey(key) {
		on = "stock"
	}
	c, _ := ctx.Value(faultsKey{}).(orderFaults)
	for _, f := range c.faults {
		if f.After == after && f.isAt(cmd, on) {
			f.once.Do(func() { i.inject(ctx, f, c.order) })
		}
	}
}

func (i *Injector) inject(ctx context.Context, f *Fault, order string) {
	event := Event{Cmd: "fault", Key: f.String(), At: time.Now()}
	From(ctx).begin(event)
	switch f.Action {
	case "hold":
		i.hold(context.WithoutCancel(ctx), f, order)
	case "work":
		i.hold(ctx, f, order)
	}
	event.End = time.Now()
	From(ctx).add(event)
}

// hold waits until the order is released, or ctx ends.
func (i *Injector) hold(ctx context.Context, f *Fault, order string) {
	h := &Held{Order: order, Point: f.String(), Since: time.Now(), release: make(chan time.Duration, 1)}
	i.mu.Lock()
	i.held = append(i.held, h)
	i.mu.Unlock()
	timer := time.NewTimer(maxHold)
	defer timer.Stop()
	select {
	case after := <-h.release:
		time.Sleep(after)
	case <-timer.C:
		i.removeHeld(h)
	case <-ctx.Done():
		i.removeHeld(h)
	}
}

// removeHeld removes an order that nobody released from the list.
func (i *Injector) removeHeld(h *Held) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held = slices.DeleteFunc(i.held, func(other *Held) bool { return other == h })
}
