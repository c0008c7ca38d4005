package lock

import (
	"context"
	"sync"
)

// An Owner is who takes a reentrant lock, and knows what it holds. Go has no thread ids, so the owner is explicit: it
// travels in the context, and whoever has that context is the same owner. It does one thing at a time, like a thread.
type Owner struct {
	id string

	mu    sync.Mutex
	holds map[string]int // by key
}

// NewOwner returns an owner of that name. Names are the caller's, and unique within a process.
func NewOwner(id string) *Owner { return &Owner{id: id, holds: map[string]int{}} }

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

// depth returns how often the owner holds a lock.
func (o *Owner) depth(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holds[key]
}

// add changes it by one.
func (o *Owner) add(key string, one int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds[key] += one
}
