package lock

import (
	"context"
	"fmt"
	"time"
)

// setNXExpire is v1.5: v1 with a TTL, set by a second command.
// Defect: two commands are not one. A holder that dies between them locks the product for ever, as in v1.
func setNXExpire(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		// Sent as it is written: go-redis' own SetNX sends SET … NX.
		ok, err := b.Redis.Do(ctx, "SETNX", key, "1").Bool()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		// PEXPIRE is EXPIRE in milliseconds: EXPIRE would round a TTL below a second up.
		if err := b.Redis.PExpire(ctx, key, ttl).Err(); err != nil {
			return nil, fmt.Errorf("set the TTL: %w", err)
		}
		unlock := func(ctx context.Context) error {
			return b.Redis.Del(ctx, key).Err()
		}
		return &Lease{Context: ctx, Token: "1", Unlock: unlock}, nil
	}
}
