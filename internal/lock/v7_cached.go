package lock

import (
	"context"
	"sync"
)

// cachedReentrant is v7-cached, an exhibit: v7 with an optimization that is tempting. The process remembers what a
// caller holds, so that taking the lock again costs no command.
// Defect: the release does not clear the memory. From then on the caller believes that it holds the lock, and comes in
// beside the real holder.
func cachedReentrant(rt runtime) TryLock {
	take, held := reentrant(rt), &cache{}
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		caller := key + " " + o.owner().id
		if token, ok := held.get(caller); ok {
			return &Lease{Context: ctx, Token: token}, nil
		}
		lease, err := take(ctx, key, o)
		if err == nil {
			held.put(caller, lease.Token)
		}
		return lease, err
	}
}

// A cache is a map with a limited size. It forgets everything when it is full.
type cache struct {
	mu     sync.Mutex
	tokens map[string]string
}

func (m *cache) get(caller string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	token, ok := m.tokens[caller]
	return token, ok
}

func (m *cache) put(caller, token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tokens == nil || len(m.tokens) >= 10_000 {
		m.tokens = map[string]string{}
	}
	m.tokens[caller] = token
}
