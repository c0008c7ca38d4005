package lock

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed permit_acquire.lua
	permitAcquireSource string
	//go:embed permit_renew.lua
	permitRenewSource string
	//go:embed permit_release.lua
	permitReleaseSource string

	permitAcquire = newScript("acquire-permit", permitAcquireSource)
	permitRenew   = newScript("renew", permitRenewSource)
	permitRelease = newScript("release", permitReleaseSource)
)

// acquirePermit takes a permit. It returns how many are held now, including this one, or 0 if none was free.
func acquirePermit(
	ctx context.Context, rdb redis.Scripter, key, token string, ttl time.Duration, permits int64,
) (int64, error) {
	return permitAcquire.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds(), permits).Int64()
}

// renewPermit moves the permit's deadline, or returns false if it has passed. With an error the outcome is
// indeterminate.
func renewPermit(ctx context.Context, rdb redis.Scripter, key, token string, ttl time.Duration) (bool, error) {
	n, err := permitRenew.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int()
	return n == 1, err
}

// releasePermit returns the permit, or ErrLost if its deadline has passed.
func releasePermit(ctx context.Context, rdb redis.Scripter, key, token string) error {
	return releaseResult(permitRelease.Run(ctx, rdb, []string{key}, token).Int64())
}
