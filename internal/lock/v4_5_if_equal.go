package lock

import (
	"context"
	"fmt"
)

// ifEqual is v4.5: v4 without its script. The check and the delete are one command, DELEX with IFEQ of Redis 8.4, or
// DELIFEQ of Valkey 9: whichever this Redis knows.
// Defect: that of v4. The lock still expires under slow work.
func ifEqual(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token := newToken()
		ok, err := rt.Redis.SetNX(ctx, key, token, o.TTL).Result()
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		unlock := func(ctx context.Context) error {
			return deleteIfEqual(ctx, rt.Redis, rt.known(delex, delifeq), key, token)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
