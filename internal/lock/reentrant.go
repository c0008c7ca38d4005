package lock

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed reentrant_acquire.lua
	reentrantAcquireSource string
	//go:embed reentrant_release.lua
	reentrantReleaseSource string
	//go:embed reentrant_renew.lua
	reentrantRenewSource string

	reentrantAcquire = redis.NewScript(reentrantAcquireSource)
	reentrantRelease = redis.NewScript(reentrantReleaseSource)
	reentrantRenew   = redis.NewScript(reentrantRenewSource)
)

// acquireReentrant takes the lock for an owner that holds it so many times before. It returns how often that is now, or 0
// and after how long the other's lease ends, a negative time if it does not; or [ErrLost] if the holds before it have
// ended.
func acquireReentrant(
	ctx context.Context, rdb redis.Scripter, key, owner string, before int, ttl time.Duration,
) (count int64, left time.Duration, err error) {
	n, err := reentrantAcquire.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds(), before).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, 0, ErrLost
	}
	if err != nil || n > 0 {
		return n, 0, err
	}
	return 0, time.Duration(-1-n) * time.Millisecond, nil
}

// releaseReentrant gives holds back until so many are left, and returns ErrLost if there were none.
func releaseReentrant(ctx context.Context, rdb redis.UniversalClient, key, owner string, left int) error {
	return released(reentrantRelease.Run(ctx, rdb, []string{key, channelOf(key)}, owner, left, publishOn(rdb)).Int64())
}

// renewReentrant gives the lock a new TTL, and returns false if owner does not hold it any more.
func renewReentrant(ctx context.Context, rdb redis.Scripter, key, owner string, ttl time.Duration) (bool, error) {
	n, err := reentrantRenew.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds()).Int()
	return n == 1, err
}

// channelOf is where Redisson tells of the release of a lock. The braces keep it in the lock's slot of a cluster; a name
// that has braces keeps its own.
func channelOf(key string) string {
	if strings.Contains(key, "{") {
		return "redisson_lock__channel:" + key
	}
	return "redisson_lock__channel:{" + key + "}"
}

// publishOn is the command that publishes within a slot, on a cluster, and everywhere else.
func publishOn(rdb redis.UniversalClient) string {
	if _, cluster := rdb.(*redis.ClusterClient); cluster {
		return "SPUBLISH"
	}
	return "PUBLISH"
}
