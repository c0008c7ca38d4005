package lock

import (
	"context"
	"fmt"
)

// setNX is v1, step 1 of the article: the request that creates the key holds the lock, and deletes the key to release
// it.
// Defect: the key has no TTL. If a holder dies between the two, the product is locked for ever.
func setNX(rt runtime) TryLock {
	return func(ctx context.Context, key string, _ Options) (*Lease, error) {
		// Do sends SETNX as it is written; SetNX of go-redis would send SET … NX.
		ok, err := rt.Redis.Do(ctx, "SETNX", key, "1").Bool()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		unlock := func(ctx context.Context) error {
			return rt.Redis.Del(ctx, key).Err()
		}
		return &Lease{Context: ctx, Token: "1", unlock: unlock}, nil
	}
}
