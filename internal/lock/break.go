package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// breakTime limits Break, even if no backend answers.
const breakTime = 3 * time.Second

// Break removes the lock of a product on every rung and every backend, even if it is held, and returns how many
// keys it removed. A holder finds its lease lost at its next check. Waiters are notified. All backends are asked at
// once, so that one that fails or does not answer does not stop the others; its error is returned.
func (b Backends) Break(ctx context.Context, product string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, breakTime)
	defer cancel()
	var parts []func(context.Context) (int64, error)
	for _, key := range keysOf(product) {
		for _, node := range append([]redis.UniversalClient{b.Redis}, b.Redlock...) {
			parts = append(parts, func(ctx context.Context) (int64, error) { return breakKey(ctx, node, key) })
		}
	}
	key := Rung{}.Key(product) // the other backends have one key for a product
	if b.ZooKeeper != nil {
		parts = append(parts, func(ctx context.Context) (int64, error) { return b.breakNodes(ctx, key) })
	}
	if b.SQL != nil && !b.SQL.Unused() {
		parts = append(parts, func(ctx context.Context) (int64, error) { return b.breakSQL(ctx, key) })
	}
	return sum(ctx, parts)
}

// keysOf returns the keys that guard a product in Redis, on any rung.
func keysOf(product string) (keys []string) {
	for _, r := range Ladder() {
		if key := r.Key(product); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// breakKey removes a lock on one server, with the keys that some rungs keep beside it, and notifies the waiters: by
// Redisson's message on v7's channel, and by a message to the first waiter in v8's queue. The others in that queue take
// a new place.
func breakKey(ctx context.Context, node redis.UniversalClient, key string) (int64, error) {
	head, _ := node.LIndex(ctx, queueOf(key), 0).Result() // "" if the queue has another type and cannot be read
	// The last fencing token may go: the next one comes from the clock.
	besideErr := node.Del(ctx, fenceOf(key), queueOf(key), deadlinesOf(key), marksOf(key)).Err()
	removed, err := node.Del(ctx, key).Result()
	publish := node.Publish
	if _, cluster := node.(*redis.ClusterClient); cluster {
		publish = node.SPublish
	}
	publishErr := publish(ctx, channelOf(key), 0).Err()
	if head != "" {
		publishErr = errors.Join(publishErr, publish(ctx, fairChannelOf(key), head).Err())
	}
	return removed, errors.Join(besideErr, err, publishErr)
}

// sum runs all parts concurrently. It returns the sum of their results, and their errors, each text once.
func sum(ctx context.Context, parts []func(context.Context) (int64, error)) (total int64, failed error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	texts := map[string]bool{}
	for _, part := range parts {
		all.Go(func() {
			n, err := part(ctx)
			mu.Lock()
			defer mu.Unlock()
			total += n
			if err != nil && !texts[err.Error()] {
				texts[err.Error()] = true
				failed = errors.Join(failed, err)
			}
		})
	}
	all.Wait()
	return total, failed
}

// breakSQL is [Backends.Break] for the database, where v12 and its variants use the same key.
func (b Backends) breakSQL(ctx context.Context, key string) (removed int64, err error) {
	rows, err := (&table{db: b.SQL}).remove(ctx, key)
	naive, missed := (&table{db: b.SQL, layout: createNaive}).exec(ctx, "remove", key, deleteNaive, key)
	sessions, failed := breakSession(ctx, b.SQL, key)
	return rows + naive + sessions, errors.Join(err, missed, failed)
}
