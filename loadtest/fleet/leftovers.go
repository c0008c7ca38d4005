package fleet

import (
	"context"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
)

// What a run leaves on a Redis that is not its own, when it is killed with all that it started, ends by its TTL. One
// thing has none: the lock of v1, which is what v1 shows, and that of v1.5 between its two commands. The next run that
// comes to that Redis gives it one.
//
// It does not remove it, as the lock may be that of a run which is under way: nobody can tell. OBJECT IDLETIME cannot,
// since all keys that hold the same small number share it. No lock of a run is held for a day; and the next SETNX makes
// another key, without a TTL.

const (
	// leftFor is how long it then stays.
	leftFor = 24 * time.Hour
	// lookFor bounds how long the Redis is looked through.
	lookFor = 2 * time.Second
)

// leftover matches the keys of runs: stock and lock of a product whose name is lt-, the run's id, the cell and the rung.
var leftover = regexp.MustCompile(`^\{?(ProductStock_|DistributedLock_|redlock:)lt-[0-9a-f]{8}(-[0-9a-z_-]+)?(\}:[a-z]+)?$`)

// endLater gives a key a TTL that has none.
var endLater = redis.NewScript(`return redis.call('PTTL', KEYS[1]) == -1 and redis.call('PEXPIRE', KEYS[1], ARGV[1])`)

// endLeftovers sees to it that what runs before this one have left behind ends. What it does not find in time stays.
func endLeftovers(ctx context.Context, rawURL string) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	_ = tell(rawURL, func(c *redis.Client) error {
		keys := c.Scan(ctx, 0, "*lt-*", 1000).Iterator()
		for keys.Next(ctx) {
			if leftover.MatchString(keys.Val()) {
				_ = endLater.Run(ctx, c, []string{keys.Val()}, leftFor.Milliseconds()).Err()
			}
		}
		return keys.Err()
	})
}
