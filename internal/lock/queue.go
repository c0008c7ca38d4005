package lock

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed fair_acquire.lua
	fairAcquireSource string
	//go:embed fair_release.lua
	fairReleaseSource string
	//go:embed fair_leave.lua
	fairLeaveSource string

	fairAcquire = newScript("acquire-fair", fairAcquireSource)
	fairRelease = newScript("release-fair", fairReleaseSource)
	fairLeave   = newScript("leave-fair", fairLeaveSource)
)

// A place in the queue lasts for placeTTL, and its waiter renews it every heartbeat. So a waiter that dies delays those
// behind it by placeTTL at most, and a live waiter must miss three heartbeats before it loses its place.
const (
	placeTTL  = 3 * time.Second
	heartbeat = placeTTL / 4
)

type placeKey struct{}

// placeOf returns the place in the queue from which a context's attempts are made, or "" if they do not queue.
func placeOf(ctx context.Context) string {
	place, _ := ctx.Value(placeKey{}).(string)
	return place
}

func queueOf(key string) string       { return "{" + key + "}:queue" }
func deadlinesOf(key string) string   { return "{" + key + "}:deadlines" }
func fairChannelOf(key string) string { return "{" + key + "}:released" }

// acquireFair is [acquireReentrant] from a place in the queue. If the lock is not acquired, it returns 0 and the time
// after which to try again.
func acquireFair(
	ctx context.Context, rdb redis.Scripter, key, owner string, depth int, place string, ttl time.Duration,
) (count int64, left time.Duration, err error) {
	keys := []string{key, queueOf(key), deadlinesOf(key)}
	n, err := fairAcquire.Run(ctx, rdb, keys, owner, ttl.Milliseconds(), depth, place, placeTTL.Milliseconds()).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, 0, ErrLost
	}
	if err != nil || n > 0 {
		return n, 0, err
	}
	return 0, max(time.Duration(-1-n), 1) * time.Millisecond, nil
}

// releaseFair releases the lock until the owner holds it left times, or returns ErrLost if the owner does not hold it.
func releaseFair(ctx context.Context, rdb redis.UniversalClient, key, owner string, left int) error {
	keys := []string{key, queueOf(key), fairChannelOf(key)}
	return releaseResult(fairRelease.Run(ctx, rdb, keys, owner, left, publishOn(rdb)).Int64())
}

// undoFair undoes an acquire that failed with err; see [runtime.undo]. An acquire from a place in the queue may be
// carried out late, and then take the place again.
func (rt runtime) undoFair(ctx context.Context, err error, key, place string, free func(context.Context) error) {
	rt.undo(ctx, err, func(ctx context.Context) error {
		if place != "" {
			leaveQueue(ctx, rt.Redis, key, place)
		}
		return free(ctx)
	})
}

// leaveQueue gives up a place, even if the command that took it had no reply.
func leaveQueue(ctx context.Context, rdb redis.UniversalClient, key, place string) {
	keys := []string{key, queueOf(key), deadlinesOf(key), fairChannelOf(key)}
	_ = fairLeave.Run(detach(ctx), rdb, keys, place, publishOn(rdb)).Err()
}

// queued returns a [Waiting] in a queue. A waiter that finds the lock taken, or others in the queue, subscribes and
// takes a place. It tries again when it is notified, when the lock may have expired, and every heartbeat to keep its
// place. A waiter that gives up leaves the queue.
func (rt runtime) queued() Waiting {
	return rt.subscribed(fairChannelOf, func(ctx context.Context, w waiter) (*Lease, error) {
		place := newToken()
		messages := w.subscription.register(place)
		defer w.subscription.unregister(place)
		queued := context.WithValue(ctx, placeKey{}, place)
		for {
			lease, err := w.attempt(queued)
			if err == nil {
				return lease, nil
			}
			if !errors.Is(err, ErrBusy) || !time.Now().Before(w.deadline) {
				leaveQueue(ctx, rt.Redis, w.key, place)
				return nil, err
			}
			until := earlier(time.Now().Add(heartbeat), earlier(expiry(err, w.deadline), w.deadline))
			if _, err := rt.awaitMessage(ctx, w.subscription, messages, until); err != nil {
				leaveQueue(ctx, rt.Redis, w.key, place)
				return nil, err
			}
		}
	})
}
