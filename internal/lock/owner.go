package lock

import "sync"

// An Owner identifies the holder of a reentrant lock, and counts how often it holds each lock. Go has no thread ids, so
// the owner is explicit: it is one of a lock's [Options]. Like a thread, an owner does one thing at a time.
type Owner struct {
	id string

	mu    sync.Mutex
	locks map[string]ownedLock // by key
}

// An ownedLock is a lock that an owner holds.
type ownedLock struct {
	name  string // the owner's name in the lock
	depth int    // how often the owner holds it
}

// NewOwner returns an owner with that id. The caller chooses ids, which must be unique in the process.
func NewOwner(id string) *Owner { return &Owner{id: id, locks: map[string]ownedLock{}} }

// lookup returns the owner's name in a lock, and how often it holds the lock. If it does not hold the lock, the name is
// a new one, so that a release that was lost or comes late cannot touch the same caller's next lease.
func (o *Owner) lookup(key string) (name string, depth int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.locks[key]; ok {
		return held.name, held.depth
	}
	return newToken() + ":" + o.id, 0
}

// depth returns how often the owner holds a lock.
func (o *Owner) depth(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locks[key].depth
}

// enter counts one more acquire, under that name.
func (o *Owner) enter(key, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locks[key] = ownedLock{name, o.locks[key].depth + 1}
}

// exit counts one release, and returns how often the owner still holds the lock.
func (o *Owner) exit(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	held := o.locks[key]
	if held.depth--; held.depth <= 0 {
		delete(o.locks, key)
		return 0
	}
	o.locks[key] = held
	return held.depth
}
