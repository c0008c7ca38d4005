package lock

import (
	"context"
	"sync"
)

// An Owner takes a reentrant lock, and knows what it holds. Go has no thread ids, so the owner is explicit: it
// travels in the context, and whoever has that context is the same owner. It does one thing at a time, like a thread.
type Owner struct {
	id string

	mu    sync.Mutex
	holds map[string]hold // by key
}

// hold is a lock that an owner holds.
type hold struct {
	name  string // by which the lock knows the owner
	depth int    // how often
}

// NewOwner returns an owner of that name. Names are the caller's, and unique within a process.
func NewOwner(id string) *Owner { return &Owner{id: id, holds: map[string]hold{}} }

type ownerKey struct{}

// WithOwner returns a context in which locks are taken by that owner. Rungs that are not reentrant do not look at it.
func WithOwner(ctx context.Context, o *Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}

// ownerOf returns the owner of a context; one without is an owner of its own, that nobody else can be.
func ownerOf(ctx context.Context) *Owner {
	if o, ok := ctx.Value(ownerKey{}).(*Owner); ok {
		return o
	}
	return NewOwner(newToken())
}

// hold returns by which name the owner holds a lock, and how often. For a lock that it does not hold, it draws a name that
// nobody had: a release that was lost, or comes late, must find nothing of the same caller's next order.
func (o *Owner) hold(key string) (name string, depth int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.holds[key]; ok {
		return held.name, held.depth
	}
	return newToken() + ":" + o.id, 0
}

// depth returns how often the owner holds a lock.
func (o *Owner) depth(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holds[key].depth
}

// took counts one hold more, by that name.
func (o *Owner) took(key, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds[key] = hold{name, o.holds[key].depth + 1}
}

// gave counts one hold less, and returns how many are left.
func (o *Owner) gave(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	held := o.holds[key]
	if held.depth--; held.depth <= 0 {
		delete(o.holds, key)
		return 0
	}
	o.holds[key] = held
	return held.depth
}
