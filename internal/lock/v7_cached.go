package lock

import (
	"context"
	"sync"
	"time"
)

// cachedReentrant is an exhibit: v7 as it is sped up now and then. What a caller holds is remembered in the process, so
// taking it again costs no command.
// Defect: the release does not clear what is remembered. The caller believes ever after that it holds the lock, and
// walks in beside whoever does.
func cachedReentrant(b Backends) TryLock {
	take, held := reentrant(b), &memory{}
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		caller := key + " " + ownerOf(ctx).id
		if token, ok := held.get(caller); ok {
			return &Lease{Context: ctx, Token: token, Unlock: func(context.Context) error { return nil }}, nil
		}
		lease, err := take(ctx, key, ttl)
		if err == nil {
			held.put(caller, lease.Token)
		}
		return lease, err
	}
}

// memory is a map with a bound: it forgets everything when it is full.
type memory struct {
	mu     sync.Mutex
	tokens map[string]string
}

func (m *memory) get(caller string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	token, ok := m.tokens[caller]
	return token, ok
}

func (m *memory) put(caller, token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tokens == nil || len(m.tokens) >= 10_000 {
		m.tokens = map[string]string{}
	}
	m.tokens[caller] = token
}
