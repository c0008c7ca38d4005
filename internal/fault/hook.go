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

// Injector is what an instance with faults has: the hook for its clients, and the list of orders that are held.
type Injector struct {
	names    trace.Names
	stockKey func(key string) bool

	mu   sync.Mutex
	held []*Held // the one held longest comes first
}

// Held is an order that waits at a point to be let go on.
type Held struct {
	Order string    `json:"order"`
	Point string    `json:"point"`
	Since time.Time `json:"since"`

	release chan struct{}
}

// New returns an injector. Names are those of scripts, by digest; stockKey tells the stock's keys from the locks'.
func New(names trace.Names, stockKey func(key string) bool) *Injector {
	return &Injector{names: names, stockKey: stockKey}
}

// Held returns the orders that are held, by name; those of one name in the order in which they got there.
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

// Release lets an order go on, and reports whether it was held. Of several orders with one name, as clients may give
// them, it is the one held longest.
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

// DialHook is part of redis.Hook; connecting is left alone.
func (i *Injector) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook is part of redis.Hook: it is where faults come to pass.
func (i *Injector) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := ctx.Value(faultsKey{}).(carried); !ok {
			return next(ctx, cmd)
		}
		i.at(ctx, false, cmd)
		err := next(ctx, cmd)
		i.at(ctx, true, cmd)
		return err
	}
}

// ProcessPipelineHook is part of redis.Hook. What lies between the commands of a pipeline is not a point.
func (i *Injector) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if _, ok := ctx.Value(faultsKey{}).(carried); !ok {
			return next(ctx, cmds)
		}
		i.at(ctx, false, cmds...)
		err := next(ctx, cmds)
		i.at(ctx, true, cmds...)
		return err
	}
}

// at lets the faults of an order happen that wait for one of these commands.
func (i *Injector) at(ctx context.Context, after bool, cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		name, key := i.names.Describe(cmd.Args())
		i.At(ctx, after, name, key)
	}
}

// ZooKeeper is a hook of a connection to ZooKeeper, where locks are kept and no stock.
func (i *Injector) ZooKeeper(ctx context.Context, o *backend.ZooKeeperOperation, next func(context.Context) error) error {
	i.pass(ctx, false, o.Name, "lock")
	err := next(ctx)
	i.pass(ctx, true, o.Name, "lock")
	return err
}

// At lets the faults of an order happen that wait for this command: also one that is not for Redis, and passes no hook.
func (i *Injector) At(ctx context.Context, after bool, cmd, key string) {
	on := "lock"
	if i.stockKey(key) {
		on = "stock"
	}
	i.pass(ctx, after, cmd, on)
}

// pass lets the faults of an order happen that wait for this point.
func (i *Injector) pass(ctx context.Context, after bool, name, on string) {
	c, _ := ctx.Value(faultsKey{}).(carried)
	for _, f := range c.faults {
		if f.After == after && f.Cmd == name && (f.On == "" || f.On == on) {
			f.once.Do(func() { i.happen(ctx, f, c.order) })
		}
	}
}

func (i *Injector) happen(ctx context.Context, f *Fault, order string) {
	began := time.Now()
	switch f.Action {
	case "sleep":
		time.Sleep(f.For) // also when the order's context ends: a process that hangs does not look at contexts
	case "crash":
		crash()
	case "stop":
		stop()
	case "hold":
		i.hold(f, order)
	}
	trace.From(ctx).Note(trace.Event{Cmd: "fault", Key: f.String(), At: began, End: time.Now()})
}

func (i *Injector) hold(f *Fault, order string) {
	h := &Held{Order: order, Point: f.String(), Since: time.Now(), release: make(chan struct{})}
	i.mu.Lock()
	i.held = append(i.held, h)
	i.mu.Unlock()
	timer := time.NewTimer(Longest)
	defer timer.Stop()
	select {
	case <-h.release:
	case <-timer.C:
		i.forget(h)
	}
}

// forget takes an order off the list that was held for as long as may be.
func (i *Injector) forget(h *Held) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held = slices.DeleteFunc(i.held, func(other *Held) bool { return other == h })
}
