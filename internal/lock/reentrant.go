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

	reentrantAcquire = newScript("acquire-reentrant", reentrantAcquireSource)
	reentrantRelease = newScript("release-reentrant", reentrantReleaseSource)
	reentrantRenew   = newScript("renew-reentrant", reentrantRenewSource)
)

// acquireReentrant acquires the lock for an owner that already holds it depth times. It returns how often the owner
// holds it now. If another owner holds it, it returns 0 and the time until that lease expires, negative if it does not
// expire. If the owner's earlier leases have ended, it returns [ErrLost].
func acquireReentrant(
	ctx context.Context, rdb redis.Scripter, key, owner string, depth int, ttl time.Duration,
) (count int64, left time.Duration, err error) {
	n, err := reentrantAcquire.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds(), depth).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, 0, ErrLost
	}
	if err != nil || n > 0 {
		return n, 0, err
	}
	return 0, time.Duration(-1-n) * time.Millisecond, nil
}

// releaseReentrant releases the lock until the owner holds it left times, or returns ErrLost if the owner does not hold
// it.
func releaseReentrant(ctx context.Context, rdb redis.UniversalClient, key, owner string, left int) error {
	args := []any{owner, left, publishOn(rdb), channelOf(key)}
	return releaseResult(reentrantRelease.Run(ctx, rdb, []string{key}, args...).Int64())
}

// renewReentrant gives the lock a new TTL, or returns false if owner does not hold it any more.
func renewReentrant(ctx context.Context, rdb redis.Scripter, key, owner string, ttl time.Duration) (bool, error) {
	n, err := reentrantRenew.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds()).Int()
	return n == 1, err
}

// channelOf returns the channel on which Redisson publishes the release of a lock. The braces keep it in the lock's
// slot of a cluster; a name that has braces keeps its own.
func channelOf(key string) string {
	if strings.Contains(key, "{") {
		return "redisson_lock__channel:" + key
	}
	return "redisson_lock__channel:{" + key + "}"
}

// publishOn returns the command that publishes a message: on a cluster the one that publishes within a slot.
func publishOn(rdb redis.UniversalClient) string {
	if _, cluster := rdb.(*redis.ClusterClient); cluster {
		return "SPUBLISH"
	}
	return "PUBLISH"
}
