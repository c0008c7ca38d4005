package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A renewal that a majority of the nodes refused has failed, whatever the others replied.
func TestRedlockRenewalRefusedByMajority(t *testing.T) {
	t.Parallel()
	for refusing := range 6 {
		t.Run(fmt.Sprint(refusing), func(t *testing.T) {
			onEmbedded(t, "v6", 5, func(t *testing.T, s *shop, r Rung) {
				a := s.instance(t, r)
				lease := a.lock(t, "k", time.Minute)
				for _, node := range a.Redlock[:refusing] {
					require.NoError(t, node.Set(context.Background(), "k", "another's", 0).Err())
				}
				time.Sleep(31 * time.Second)
				assert.Equal(t, refusing > 2, errors.Is(context.Cause(lease.Context), ErrLost))
				_ = lease.Unlock(context.Background())
			})
		})
	}
}

// v6 goes on while a majority of the nodes is there, v9-nodes only with all of them. A refused acquire leaves no key.
func TestRedlockWithNodesAway(t *testing.T) {
	t.Parallel()
	for id, most := range map[string]int{"v6": 1, "v9-nodes": 0} {
		for away := range 3 {
			t.Run(fmt.Sprint(id, " ", away), func(t *testing.T) {
				onEmbedded(t, id, 3-away, func(t *testing.T, s *shop, r Rung) {
					for range away {
						s.redlock = append(s.redlock, deadVirtual(hangsUp))
					}
					a := s.instance(t, r)
					lease, err := a.tryLock(t.Context(), "k", minute)
					require.Equal(t, away <= most, err == nil, "%v", err)
					if err == nil {
						unlock(t, lease)
					}
					for _, node := range a.Redlock[:3-away] {
						assert.Zero(t, node.Exists(t.Context(), "k").Val())
					}
				})
			})
		}
	}
}

// v6 is taken twice when a majority of the nodes has forgotten it, v9-nodes only when all of them have.
func TestRedlockWithNodesThatForget(t *testing.T) {
	t.Parallel()
	for id, most := range map[string]int{"v6": 1, "v9-nodes": 2} {
		for forgetful := range 4 {
			t.Run(fmt.Sprint(id, " ", forgetful), func(t *testing.T) {
				onEmbedded(t, id, 3, func(t *testing.T, s *shop, r Rung) {
					a, b := s.instance(t, r), s.instance(t, r)
					lease := a.lock(t, "k", time.Minute)
					for _, node := range a.Redlock[:forgetful] {
						require.NoError(t, node.Del(t.Context(), "k").Err())
					}
					assert.Equal(t, forgetful <= most, !b.tryOnce(t, "k"))
					_ = lease.Unlock(t.Context())
				})
			})
		}
	}
}

// If a majority of the nodes answers, the lock is busy. Otherwise there is no quorum.
func TestRedlockNoQuorum(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 4, 5} {
		n := newRuntime(Backends{Redlock: make([]redis.UniversalClient, nodes)}).nodes()
		for down := range nodes + 1 {
			var answers []error
			for node := range nodes {
				if node < down {
					answers = append(answers, &redsync.RedisError{Node: node, Err: os.ErrDeadlineExceeded})
				} else {
					answers = append(answers, &redsync.ErrNodeTaken{Node: node})
				}
			}
			majority := nodes-down >= nodes/2+1
			assert.Equal(t, !majority, errors.Is(n.busy(errors.Join(answers...)), ErrNoQuorum), "%d of %d down", down, nodes)
		}
	}
}

// Without a quorum the error has the reason of each failed node, in one line.
func TestNoQuorumSaysWhy(t *testing.T) {
	t.Parallel()
	n := newRuntime(Backends{Redlock: make([]redis.UniversalClient, 3)}).nodes()
	err := n.busy(errors.Join(&redsync.RedisError{Node: 2, Err: errors.New("NOPERM this user has no permissions")},
		errors.Join(&redsync.ErrNodeTaken{Node: 1}, &redsync.RedisError{Node: 0, Err: os.ErrDeadlineExceeded})))
	require.ErrorIs(t, err, ErrNoQuorum)
	assert.ErrorContains(t, err, "2 of 3 did not answer or refused: node 1: i/o timeout; node 3: NOPERM this user")
	assert.NotContains(t, err.Error(), "\n")
}

// An attempt that queues for a round waits no longer than its max wait, and then gets the result of the rounds before
// it. If a round is free, it starts at once.
func TestRedlockRoundKeepsMaxWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newRuntime(Backends{}).nodes()
		_, wait := rung(t, "v6").Build(Backends{RedlockRetry: time.Second})
		for range maxRounds {
			n.rounds <- struct{}{}
		}
		turn := func(maxWait time.Duration) (waited time.Duration, err error) {
			start := time.Now()
			_, err = wait(t.Context(), "k", maxWait, func(ctx context.Context) (*Lease, error) {
				return nil, n.waitForRound(ctx)
			})
			return time.Since(start), err
		}
		waited, err := turn(0)
		require.ErrorIs(t, err, ErrBusy)
		assert.Equal(t, 2*newRuntime(Backends{}).RedlockTimeout, waited, "as long as a round takes")
		n.noQuorum.Store(true)
		waited, err = turn(10 * time.Second)
		require.ErrorIs(t, err, ErrNoQuorum)
		assert.Equal(t, 10*time.Second, waited)
		<-n.rounds
		waited, err = turn(0)
		require.NoError(t, err)
		assert.Zero(t, waited)
	})
}

// A node's timeout grows with the TTL, up to a limit that can be set for a slow machine.
func TestRedlockNodeTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, ttl, want time.Duration }{
		{0, 10 * time.Millisecond, 5 * time.Millisecond}, {0, 500 * time.Millisecond, 25 * time.Millisecond},
		{0, time.Minute, 50 * time.Millisecond}, {200 * time.Millisecond, 2 * time.Second, 100 * time.Millisecond},
		{200 * time.Millisecond, time.Minute, 200 * time.Millisecond},
	} {
		assert.Equal(t, c.want, newRuntime(Backends{RedlockTimeout: c.set}).nodes().nodeTimeout(c.ttl), c)
	}
}

// With two of three nodes silent, a hundred orders that do not wait share their rounds, so that no order waits for all
// others.
func TestRedlockOrdersShareRounds(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v6", 1, func(t *testing.T, s *shop, r Rung) {
		s.redlock = append(s.redlock, deadVirtual(silent), deadVirtual(silent))
		a := s.instance(t, r)
		var rounds atomic.Int64
		var orders sync.WaitGroup
		for range 100 {
			orders.Go(func() {
				_, err := a.wait(context.Background(), "k", 0, func(ctx context.Context) (*Lease, error) {
					lease, err := a.tryLock(ctx, "k", minute)
					if strings.Contains(fmt.Sprint(err), "did not answer") {
						rounds.Add(1)
					}
					return lease, err
				})
				assert.True(t, errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrBusy), "%v", err)
			})
		}
		orders.Wait()
		assert.Less(t, rounds.Load(), int64(100), "some got the result of others")
	})
}
