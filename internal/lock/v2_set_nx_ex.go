package lock

import (
	"context"
	"fmt"
)

// setNXEX is v2, step 2 of the article: one command sets the key and its TTL, SET key 1 NX EX (PX below a second).
// Defect: when the work takes longer than the TTL, a second holder comes in. Then the first one deletes the second
// one's key, which lets a third one in: the value "1" does not tell whose lock it is.
func setNXEX(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		ok, err := rt.Redis.SetNX(ctx, key, "1", o.TTL).Result()
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
