package contender

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The limits sell with the same two commands, and ask no server for a lock. No lock whose holder reads and then writes
// sells faster than the better of them: that one has no waiting at all, or no gap between two holders.
var (
	mutexContender = Contender{Name: "mutex", Kind: Limit, Shape: OneProcess, open: onGoRedis(mutex),
		About: "the same workers in one process, around a sync.Mutex; no lock server"}
	aloneContender = Contender{Name: "alone", Kind: Limit, Shape: OneWorker, open: onGoRedis(alone),
		About: "one worker, no lock"}
)

func mutex(redis.UniversalClient) acquire {
	var mu sync.Mutex
	return func(context.Context, string) (func(context.Context) error, error) {
		mu.Lock()
		return func(context.Context) error { mu.Unlock(); return nil }, nil
	}
}

func alone(redis.UniversalClient) acquire {
	return func(context.Context, string) (func(context.Context) error, error) {
		return func(context.Context) error { return nil }, nil
	}
}
