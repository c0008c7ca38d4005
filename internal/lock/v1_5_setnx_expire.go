package lock

import (
	"context"
	"fmt"
)

// setNXExpire is v1.5: v1 with a TTL, which a second command sets.
// Defect: two commands are not atomic. If a holder dies between them, the product is locked for ever, as on v1.
func setNXExpire(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		// Do sends SETNX as it is written; SetNX of go-redis would send SET … NX.
		ok, err := rt.Redis.Do(ctx, "SETNX", key, "1").Bool()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		// PEXPIRE is EXPIRE in milliseconds. EXPIRE would round a TTL of less than a second up.
		if err := rt.Redis.PExpire(ctx, key, o.TTL).Err(); err != nil {
			return nil, fmt.Errorf("set the TTL: %w", err)
		}
		unlock := func(ctx context.Context) error {
			return rt.Redis.Del(ctx, key).Err()
		}
		return &Lease{Context: ctx, Token: "1", unlock: unlock}, nil
	}
}
