package lock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// Redlock as a multilock, compared with v6. With one of three nodes away there is no lock on all of them any more, and
// nobody gets it until the node is back; v6 goes on. Neither leaves anything behind where it was refused.
func TestRedlockAsAMultilockWithNodesAway(t *testing.T) {
	for id, most := range map[string]int{"v6": 1, "v9-nodes": 0} {
		for away := range 3 {
			t.Run(fmt.Sprint(id, " ", away), func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 3-away)
				for range away {
					s.redlock = append(s.redlock, deadNode(t, hangsUp))
				}
				a := s.instance(t, rung(t, id))
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
	for id, most := range map[string]int{"v6": 1, "v9-nodes": 2} {
		for forget := range 4 {
			t.Run(fmt.Sprint(id, " ", forget), func(t *testing.T) {
				s := newShop(t, backendtest.StartEmbedded, 3)
				a, b := s.instance(t, rung(t, id)), s.instance(t, rung(t, id))
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
