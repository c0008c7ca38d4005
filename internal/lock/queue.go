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

	fairAcquire = redis.NewScript(fairAcquireSource)
	fairRelease = redis.NewScript(fairReleaseSource)
	fairLeave   = redis.NewScript(fairLeaveSource)
)

// A place in the queue lasts for placeTTL unless its owner comes again, which it does every heartbeat. So a waiter that
// dies holds up those behind it for no longer than that, and one that lives is late three times before it loses its
// place.
const (
	placeTTL  = 3 * time.Second
	heartbeat = placeTTL / 4
)

type placeKey struct{}

// placeOf returns the place that the attempts of a context are made from, or "" for one that does not queue.
func placeOf(ctx context.Context) string {
	place, _ := ctx.Value(placeKey{}).(string)
	return place
}

func queueOf(key string) string       { return "{" + key + "}:queue" }
func deadlinesOf(key string) string   { return "{" + key + "}:deadlines" }
func fairChannelOf(key string) string { return "{" + key + "}:released" }

// acquireFair returns 0 if it took the lock, or else after how long it is worth asking again.
func acquireFair(
	ctx context.Context, rdb redis.Scripter, key, token, place string, ttl time.Duration,
) (left time.Duration, err error) {
	keys := []string{key, queueOf(key), deadlinesOf(key)}
	n, err := fairAcquire.Run(ctx, rdb, keys, token, ttl.Milliseconds(), place, placeTTL.Milliseconds()).Int64()
	if err != nil || n == 1 {
		return 0, err
	}
	return max(time.Duration(-1-n), 1) * time.Millisecond, nil
}

// releaseFair gives the lock back, and returns ErrLost if it was not the owner's.
func releaseFair(ctx context.Context, rdb redis.UniversalClient, key, token string) error {
	return released(fairRelease.Run(ctx, rdb, []string{key, queueOf(key), fairChannelOf(key)}, token, publishOn(rdb)).Int64())
}

// undoFair undoes an acquire that failed with err, from a place in the queue or from none; see [Backends.undo]. It may be
// carried out late, and then take the place anew.
func (b Backends) undoFair(ctx context.Context, err error, key, place string, free func(context.Context) error) {
	b.undo(ctx, err, func(ctx context.Context) error {
		if place != "" {
			leaveQueue(ctx, b.Redis, key, place)
		}
		return free(ctx)
	})
}

// leaveQueue gives up a place, also one of which nobody knows whether it was taken.
func leaveQueue(ctx context.Context, rdb redis.UniversalClient, key, place string) {
	ctx, cancel := detach(ctx)
	defer cancel()
	keys := []string{key, queueOf(key), deadlinesOf(key), fairChannelOf(key)}
	_ = fairLeave.Run(ctx, rdb, keys, place, publishOn(rdb)).Err()
}

// queued is a [Waiting] in line: who finds the lock taken, or others in line, subscribes, takes a place, and comes again
// when it is called, when the lock may have expired, and every heartbeat to keep its place. Who gives up leaves the
// line.
func (b Backends) queued() Waiting {
	return b.called(fairChannelOf, func(ctx context.Context, w waiter) (*Lease, error) {
		place := newToken()
		called := w.bell.name(place)
		defer w.bell.unname(place)
		inLine := context.WithValue(ctx, placeKey{}, place)
		for {
			lease, err := w.attempt(inLine)
			if err == nil {
				return lease, nil
			}
			if !errors.Is(err, ErrBusy) || !time.Now().Before(w.deadline) {
				leaveQueue(ctx, b.Redis, w.key, place)
				return nil, err
			}
			until := earlier(time.Now().Add(heartbeat), earlier(ending(err, w.deadline), w.deadline))
			if _, err := b.await(ctx, w.bell, called, until); err != nil {
				leaveQueue(ctx, b.Redis, w.key, place)
				return nil, err
			}
		}
	})
}
