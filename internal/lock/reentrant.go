package lock

import (
	"context"
	_ "embed"
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
	//go:embed reentrant_restore.lua
	reentrantRestoreSource string

	reentrantAcquire = redis.NewScript(reentrantAcquireSource)
	reentrantRelease = redis.NewScript(reentrantReleaseSource)
	reentrantRenew   = redis.NewScript(reentrantRenewSource)
	reentrantRestore = redis.NewScript(reentrantRestoreSource)
)

// acquireReentrant returns how often the owner now holds the lock, or 0 and after how long the other's lease ends; a
// negative time if it does not.
func acquireReentrant(
	ctx context.Context, rdb redis.Scripter, key, owner string, ttl time.Duration,
) (count int64, left time.Duration, err error) {
	n, err := reentrantAcquire.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds()).Int64()
	if err != nil || n > 0 {
		return n, 0, err
	}
	return 0, time.Duration(-1-n) * time.Millisecond, nil
}

// releaseReentrant gives back one hold, and returns ErrLost if there was none.
func releaseReentrant(ctx context.Context, rdb redis.UniversalClient, key, owner string, ttl time.Duration) error {
	return released(reentrantRelease.Run(ctx, rdb, []string{key, channelOf(key)}, owner, ttl.Milliseconds(), publishOn(rdb)).Int64())
}

// renewReentrant gives the lock a new TTL, and returns false if owner does not hold it any more.
func renewReentrant(ctx context.Context, rdb redis.Scripter, key, owner string, ttl time.Duration) (bool, error) {
	n, err := reentrantRenew.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds()).Int()
	return n == 1, err
}

// restore undoes an acquire that had no clear outcome; see [undo].
func restore(ctx context.Context, rdb redis.UniversalClient, key, owner string, before int) {
	ctx, cancel := detach(ctx)
	defer cancel()
	_ = reentrantRestore.Run(ctx, rdb, []string{key, channelOf(key)}, owner, before, publishOn(rdb)).Err()
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
