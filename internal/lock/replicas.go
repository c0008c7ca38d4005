package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxReplicaTime is the longest time for replicas to confirm a write. It is less than the usual timeout of the
// client, which limits the whole pipeline.
const maxReplicaTime = 500 * time.Millisecond

// replicaTime returns how long the replicas may take to confirm a write under a lease of that TTL.
func replicaTime(ttl time.Duration) time.Duration { return min(ttl/4, maxReplicaTime) }

// setNXAndWait sends SET NX with a token, and WAIT. It returns false if the key is held, and [ErrNoQuorum] if the key
// was set but is on too few replicas.
func (rt runtime) setNXAndWait(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	set, err := andWait(ctx, rt, ttl, func(c redis.Cmdable) *redis.BoolCmd { return c.SetNX(ctx, key, token, ttl) })
	if errors.Is(err, ErrNoQuorum) && !set.Val() {
		return false, nil
	}
	return set.Val(), err
}

// renewAndWait sends the script of [renew], and WAIT. It returns [ErrNoQuorum] if the lease was renewed but too few
// replicas know of it.
func (rt runtime) renewAndWait(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
	renewed, err := andWait(ctx, rt, ttl, func(c redis.Cmdable) *redis.Cmd {
		// The source, not its digest: a pipeline cannot send it again when the server does not know the script.
		return renewScript.Eval(ctx, c, []string{key}, token, ttl.Milliseconds())
	})
	n, _ := renewed.Int()
	if errors.Is(err, ErrNoQuorum) && n == 0 {
		return false, nil
	}
	return n == 1, err
}

// errCluster means that WAIT was asked for on Redis Cluster, where the client sends it to every primary, over other
// connections than that of the write.
var errCluster = errors.New("WAIT needs a Redis with one primary, not a cluster")

// andWait sends a write and WAIT in one pipeline, and returns [ErrNoQuorum] if too few replicas have confirmed the
// write. It has to be one pipeline: WAIT answers for the writes of its own connection. If the instance asks for no
// replicas, it sends the write alone.
func andWait[C redis.Cmder](
	ctx context.Context, rt runtime, ttl time.Duration, write func(redis.Cmdable) C,
) (C, error) {
	if rt.Replicas == 0 {
		cmd := write(rt.Redis)
		return cmd, cmd.Err()
	}
	pipe := rt.Redis.Pipeline()
	cmd := write(pipe)
	confirmed := redis.NewIntCmd(ctx, "wait", rt.Replicas, replicaTime(ttl).Milliseconds())
	_ = pipe.Process(ctx, confirmed)
	if _, cluster := rt.Redis.(*redis.ClusterClient); cluster {
		return cmd, errCluster
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return cmd, err
	}
	if n := confirmed.Val(); n < int64(rt.Replicas) {
		return cmd, fmt.Errorf("%w: %d of %d replicas have confirmed the lock", ErrNoQuorum, n, rt.Replicas)
	}
	return cmd, nil
}
