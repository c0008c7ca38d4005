package lock

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed release.lua
	releaseSource string
	//go:embed renew.lua
	renewSource string
	//go:embed renew_or_recreate.lua
	renewOrRecreateSource string

	//go:embed acquire_fenced.lua
	acquireFencedSource string
	//go:embed forget_fence.lua
	forgetFenceSource string

	acquireFencedScript   = newScript("acquire", acquireFencedSource)
	forgetFenceScript     = newScript("forget-fence", forgetFenceSource)
	releaseScript         = newScript("release", releaseSource)
	renewScript           = newScript("renew", renewSource)
	renewOrRecreateScript = newScript("renew-or-recreate", renewOrRecreateSource)
)

// scriptNames are the names of [ScriptNames].
var scriptNames = map[string]string{
	// redsync v4.18.0 does not export its scripts. A test fails when a release changes them.
	redsyncReleaseHash: "release",
	redsyncExtendHash:  "renew",
}

// newScript returns a script, and gives it a name for traces.
func newScript(name, source string) *redis.Script {
	script := redis.NewScript(source)
	scriptNames[script.Hash()] = name
	return script
}

// ScriptNames returns a readable name for each script of a rung, by SHA-1 digest, for traces: on the wire a script has
// only its digest.
func ScriptNames() map[string]string { return maps.Clone(scriptNames) }

// fenceOf returns the key of a lock's last fencing token, which is in the lock's slot of a cluster.
func fenceOf(key string) string { return "{" + key + "}:fence" }

// acquireFenced takes the lock if it is free and returns its fencing token, or 0.
func acquireFenced(ctx context.Context, rdb redis.Scripter, key, token string, ttl time.Duration) (int64, error) {
	keys := []string{key, fenceOf(key)}
	return acquireFencedScript.Run(ctx, rdb, keys, token, ttl.Milliseconds()).Int64()
}

// forgetFence removes the last fencing token of a lock that token owns. It ignores errors: a fence that stays expires
// with its TTL.
func forgetFence(ctx context.Context, rdb redis.Scripter, key, token string) {
	_ = forgetFenceScript.Run(ctx, rdb, []string{key, fenceOf(key)}, token).Err()
}

// release removes the lock if token still owns it, and otherwise returns ErrLost.
func release(ctx context.Context, rdb redis.Scripter, key, token string) error {
	return releaseResult(releaseScript.Run(ctx, rdb, []string{key}, token).Int64())
}

// releaseResult returns the error for the answer to a release: ErrLost for 0, which means that the lock was not ours.
func releaseResult(n int64, err error) error {
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if n == 0 {
		return ErrLost
	}
	return nil
}

// renew gives the lock a new TTL, or returns false if token does not own it any more. With an error the outcome is
// indeterminate.
func renew(ctx context.Context, rdb redis.Scripter, key, token string, ttl time.Duration) (bool, error) {
	// In milliseconds: a time.Duration would be sent in nanoseconds, which is a TTL of years.
	n, err := renewScript.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int()
	return n == 1, err
}

// renewOrRecreate is the renewal of v5-as-printed: it creates the lock again if it is gone.
func renewOrRecreate(ctx context.Context, rdb redis.Scripter, key, token string, ttl time.Duration) (bool, error) {
	n, err := renewOrRecreateScript.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int()
	return n == 1, err
}
