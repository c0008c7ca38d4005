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

	release chan struct{}
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

// Release lets a held order go on, and reports whether there was one. Of several orders with that name it releases the
// one held longest.
func (i *Injector) Release(order string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := slices.IndexFunc(i.held, func(h *Held) bool { return h.Order == order })
	if n < 0 {
		return false
	}
	close(i.held[n].release)
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
	case "sleep":
		time.Sleep(f.For) // ignores the order's context, like a process that hangs
	case "crash":
		crash()
	case "stop":
		stop()
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
	h := &Held{Order: order, Point: f.String(), Since: time.Now(), release: make(chan struct{})}
	i.mu.Lock()
	i.held = append(i.held, h)
	i.mu.Unlock()
	timer := time.NewTimer(maxHold)
	defer timer.Stop()
	select {
	case <-h.release:
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
