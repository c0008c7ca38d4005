package lock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// everyNode is Redlock as a multilock: v9's lock of one key on each of N independent nodes, all of them or none. It is
// what is left of Redlock when one builds it from a multilock and forgets the quorum.
func everyNode(nodes []redis.UniversalClient) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		held := &Lease{Context: ctx, Unlock: func(context.Context) error { return nil }}
		for _, node := range nodes {
			next, err := one(multilock)(Backends{Redis: node}.withDefaults())(held.Context, key, ttl)
			if err != nil {
				_ = held.Unlock(ctx)
				return nil, err
			}
			held = held.and(next)
		}
		return held, nil
	}
}

// Both ways to lock on three nodes, by name.
func redlocks(i *instance) map[string]TryLock {
	return map[string]TryLock{"quorum": i.tryLock, "every node": everyNode(i.Redlock)}
}

// Redlock as a multilock, compared with v6. With one of three nodes away there is no lock on all of them any more, and
// nobody gets it until the node is back; v6 goes on. Neither leaves anything behind where it was refused.
func TestRedlockAsAMultilockWithNodesAway(t *testing.T) {
	for kind, most := range map[string]int{"quorum": 1, "every node": 0} {
		for away := range 3 {
			t.Run(fmt.Sprint(kind, away), func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 3-away)
				for range away {
					s.redlock = append(s.redlock, deadNode(t, hangsUp))
				}
				a := s.instance(t, rung(t, "v6"))
				a.tryLock = redlocks(a)[kind]
				lease, err := a.try(context.Background(), "k", time.Minute)
				require.Equal(t, away <= most, err == nil, "%v", err)
				if err == nil {
					unlock(t, lease)
				}
				for _, node := range a.Redlock[:3-away] {
					assert.Eventually(t, func() bool { return node.Exists(context.Background(), "k").Val() == 0 }, margin, 5*time.Millisecond)
				}
			})
		}
	}
}

// What the other bargain buys: while one node alone remembers the lock, nobody else gets all of them. v6 is taken twice
// when a majority has forgotten.
func TestRedlockAsAMultilockWithNodesThatForget(t *testing.T) {
	for kind, most := range map[string]int{"quorum": 1, "every node": 2} {
		for forget := range 4 {
			t.Run(fmt.Sprint(kind, forget), func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 3)
				a, b := s.instance(t, rung(t, "v6")), s.instance(t, rung(t, "v6"))
				a.tryLock, b.tryLock = redlocks(a)[kind], redlocks(b)[kind]
				lease := a.lock(t, "k", time.Minute)
				for _, node := range a.Redlock[:forget] {
					require.NoError(t, node.Del(context.Background(), "k").Err())
				}
				assert.Equal(t, forget <= most, !b.tryOnce(t, "k"))
				_ = lease.Unlock(context.Background())
			})
		}
	}
}
