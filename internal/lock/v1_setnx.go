package lock

import (
	"context"
	"fmt"
	"time"
)

// setNX is v1, step 1 of the article: whoever creates the key holds the lock, whoever deletes it gives it back.
// Defect: the key has no TTL. A holder that dies between the two locks the product for ever.
func setNX(b Backends) TryLock {
	return func(ctx context.Context, key string, _ time.Duration) (*Lease, error) {
		// Sent as it is written: go-redis' own SetNX sends SET … NX.
		ok, err := b.Redis.Do(ctx, "SETNX", key, "1").Bool()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		unlock := func(ctx context.Context) error {
			return b.Redis.Del(ctx, key).Err()
		}
		return &Lease{Context: ctx, Token: "1", Unlock: unlock}, nil
	}
}
