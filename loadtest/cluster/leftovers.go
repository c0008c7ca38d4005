package cluster

import (
	"context"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
)

// A run that is killed leaves keys on a Redis that is not its own. They expire by their TTL, except for two: the lock
// of v1, whose defect this is, and that of v1.5 between its two commands. The next run that uses that Redis gives them
// a TTL.
//
// It does not delete them, as such a lock may belong to a run that is still under way. OBJECT IDLETIME cannot tell,
// since all keys that hold the same small number share it. No run holds a lock for a day, and the next SETNX makes a
// new key, without a TTL.

const (
	// leftFor is the TTL that leftovers get.
	leftFor = 24 * time.Hour
	// lookFor bounds the search.
	lookFor = 2 * time.Second
)

// leftover matches the keys of runs: the stock and the lock of a product named lt-, the run's id, the cell and the
// rung.
var leftover = regexp.MustCompile(
	`^\{?(ProductStock_|DistributedLock_|redlock:)lt-[0-9a-f]{8}(-[0-9a-z_-]+)?(\.[0-9a-z]+\.[0-9]+)?(\}:[a-z]+)?$`,
)

// endLater sets a TTL on a key that has none.
var endLater = redis.NewScript(`return redis.call('PTTL', KEYS[1]) == -1 and redis.call('PEXPIRE', KEYS[1], ARGV[1])`)

// endLeftovers sets a TTL on the keys that earlier runs have left behind. Keys that it does not find in time stay.
func endLeftovers(ctx context.Context, rawURL string) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	_ = withClient(rawURL, func(c *redis.Client) error {
		keys := c.Scan(ctx, 0, "*lt-*", 1000).Iterator()
		for keys.Next(ctx) {
			if leftover.MatchString(keys.Val()) {
				_ = endLater.Run(ctx, c, []string{keys.Val()}, leftFor.Milliseconds()).Err()
			}
		}
		return keys.Err()
	})
}
