package fault

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/trace"
)

// An Injector injects faults as a hook of the clients, and lists the orders that faults hold.
type Injector struct {
	names    trace.Names
	stockKey func(key string) bool

	mu   sync.Mutex
	held []*Held // the oldest first
}

// A Held describes an order that a fault keeps waiting at a point.
type Held struct {
	Order string    `json:"order"`
	Point string    `json:"point"`
	Since time.Time `json:"since"`

	release chan struct{}
}

// New returns an injector. Names holds the names of scripts by digest; stockKey reports whether a key is the stock's
// rather than a lock's.
func New(names trace.Names, stockKey func(key string) bool) *Injector {
	return &Injector{names: names, stockKey: stockKey}
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
// one that was held first.
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

// DialHook is part of redis.Hook. It injects nothing.
func (i *Injector) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook is part of redis.Hook. It injects the faults before and after a command.
func (i *Injector) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := ctx.Value(faultsKey{}).(orderFaults); !ok {
			return next(ctx, cmd)
		}
		i.at(ctx, false, cmd)
		err := next(ctx, cmd)
		i.at(ctx, true, cmd)
		return err
	}
}

// ProcessPipelineHook is part of redis.Hook. Its points are before and after the whole pipeline.
func (i *Injector) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if _, ok := ctx.Value(faultsKey{}).(orderFaults); !ok {
			return next(ctx, cmds)
		}
		i.at(ctx, false, cmds...)
		err := next(ctx, cmds)
		i.at(ctx, true, cmds...)
		return err
	}
}

// at injects the faults of an order at these commands.
func (i *Injector) at(ctx context.Context, after bool, cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		name, key := i.names.Describe(cmd.Args())
		i.At(ctx, after, name, key)
	}
}

// ZooKeeper is a [backend.ZooKeeperHook]. ZooKeeper holds locks but no stock.
func (i *Injector) ZooKeeper(
	ctx context.Context, o *backend.ZooKeeperOperation, next func(context.Context) error,
) error {
	i.fire(ctx, false, o.Name, "lock")
	err := next(ctx)
	i.fire(ctx, true, o.Name, "lock")
	return err
}

// At injects the faults of an order before or after a command. It is exported for commands that pass no Redis hook.
func (i *Injector) At(ctx context.Context, after bool, cmd, key string) {
	on := "lock"
	if i.stockKey(key) {
		on = "stock"
	}
	i.fire(ctx, after, cmd, on)
}

// fire injects the faults of an order that belong to this point.
func (i *Injector) fire(ctx context.Context, after bool, name, on string) {
	c, _ := ctx.Value(faultsKey{}).(orderFaults)
	for _, f := range c.faults {
		if f.After == after && f.Cmd == name && (f.On == "" || f.On == on) {
			f.once.Do(func() { i.inject(ctx, f, c.order) })
		}
	}
}

func (i *Injector) inject(ctx context.Context, f *Fault, order string) {
	event := trace.Event{Cmd: "fault", Key: f.String(), At: time.Now()}
	trace.From(ctx).Begin(event)
	switch f.Action {
	case "sleep":
		time.Sleep(f.For) // ignores the order's context, as a process that hangs does
	case "crash":
		crash()
	case "stop":
		stop()
	case "hold":
		i.hold(f, order)
	}
	event.End = time.Now()
	trace.From(ctx).Note(event)
}

func (i *Injector) hold(f *Fault, order string) {
	h := &Held{Order: order, Point: f.String(), Since: time.Now(), release: make(chan struct{})}
	i.mu.Lock()
	i.held = append(i.held, h)
	i.mu.Unlock()
	timer := time.NewTimer(MaxDuration)
	defer timer.Stop()
	select {
	case <-h.release:
	case <-timer.C:
		i.removeHeld(h)
	}
}

// removeHeld removes an order from the list after the longest hold.
func (i *Injector) removeHeld(h *Held) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held = slices.DeleteFunc(i.held, func(other *Held) bool { return other == h })
}
