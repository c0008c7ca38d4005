package lock

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// startReplica starts a replica of that server, and waits until it follows.
func startReplica(t *testing.T, primary *backendtest.Server) (replica redis.UniversalClient, leave func()) {
	t.Helper()
	ctx := context.Background()
	of := backendtest.Client(t, primary)
	require.NoError(t, of.ConfigSet(ctx, "repl-diskless-sync", "no").Err(), "the usual way begins after five seconds")
	replica = backendtest.Client(t, backendtest.StartRedis(t))
	host, port, _ := strings.Cut(backend.Address(primary.URL), ":")
	require.NoError(t, replica.Do(ctx, "replicaof", host, port).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(replica.Info(ctx, "replication").Val(), "master_link_status:up")
	}, 10*time.Second, 5*time.Millisecond)
	return replica, func() { require.NoError(t, replica.Do(ctx, "replicaof", "no", "one").Err()) }
}

// instanceWithReplicas returns an instance of v5.7 that asks for that many replicas.
func instanceWithReplicas(t *testing.T, s *shop, replicas int) *instance {
	t.Helper()
	i := s.instance(t, rung(t, "v5.7"))
	i.Replicas = replicas
	i.rebuild()
	return i
}

func TestReplicasHaveGrantedLock(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	ctx := context.Background()
	s := newShop(t, backendtest.StartRedis, 0)
	first, _ := startReplica(t, s.redis)
	second, leave := startReplica(t, s.redis)
	one, both := instanceWithReplicas(t, s, 1), instanceWithReplicas(t, s, 2)
	for range 20 {
		lease := both.lock(t, "k", time.Minute)
		for _, replica := range []redis.UniversalClient{first, second} {
			assert.Equal(t, lease.Token, replica.Get(ctx, "k").Val())
		}
		unlock(t, lease)
	}
	leave()
	unlock(t, one.lock(t, "k", time.Minute))
	_, err := both.tryLock(ctx, "k", Options{TTL: time.Second})
	require.ErrorIs(t, err, ErrNoQuorum)
	assert.Zero(t, one.Redis.Exists(ctx, "k").Val(), "what too few have is given back")

	held := one.lock(t, "k", time.Minute)
	_, err = both.tryLock(ctx, "k", Options{TTL: time.Second})
	require.ErrorIs(t, err, ErrBusy, "it is another's, on however many replicas")
	unlock(t, held)
}

// A confirmation answers WAIT in place of the replicas.
type confirmation func() (replicas int64)

func (h confirmation) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h confirmation) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h confirmation) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if cmd.Name() == "wait" && cmd.Err() == nil {
				cmd.(*redis.IntCmd).SetVal(h())
			}
		}
		return err
	}
}

// A renewal that no replica confirms does not lengthen the lease: a promoted replica would end it as if there had been
// no renewal.
func TestReplicasConfirmRenewal(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v5.7", 0, func(t *testing.T, s *shop, _ Rung) {
		var confirmed atomic.Int64
		confirmed.Store(1)
		a := instanceWithReplicas(t, s, 1)
		a.Redis.AddHook(confirmation(confirmed.Load))
		kept := a.lock(t, "kept", slowTTL)
		time.Sleep(3 * slowTTL / 2) // before the last of its three renewals is used up
		require.NoError(t, kept.Context.Err())
		unlock(t, kept)

		lease := a.lock(t, "k", slowTTL)
		confirmed.Store(0)
		awaitLoss(t, lease, slowTTL+margin)
		unlock(t, lease)
	})
}

// The lock and WAIT are sent together: asking the replicas costs no round trip more.
func TestReplicasCostNoRoundTrip(t *testing.T) {
	t.Parallel()
	onEmbedded(t, "v5.7", 0, func(t *testing.T, s *shop, _ Rung) {
		var written atomic.Int64
		a := instanceWithReplicas(t, s, 1)
		a.Redis = clientOn(t, s.redis, func(conn net.Conn) net.Conn { return countingConn{conn, &written} })
		a.Redis.AddHook(confirmation(func() int64 { return 1 }))
		a.rebuild()
		require.True(t, a.tryOnce(t, "k")) // connects, and loads the scripts
		before := written.Load()
		require.True(t, a.tryOnce(t, "k"))
		assert.EqualValues(t, 2, written.Load()-before, "one to acquire, one to release")
	})
}

func TestReplicasOfClusterAreNotAsked(t *testing.T) {
	t.Parallel()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	rt := newRuntime(Backends{Redis: cluster, Replicas: 1})
	_, err := rt.setNXAndWait(t.Context(), "k", "token", time.Minute)
	require.ErrorIs(t, err, errCluster)
}
