package lock

import (
	"context"
	"fmt"
)

// luaRelease is v4, step 4 of the article: the check and the delete are one script, which is atomic.
// Defect: the lock still expires under slow work, and a second holder comes in. But the first holder no longer deletes
// the second one's key.
func luaRelease(rt runtime) TryLock {
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
			return release(ctx, rt.Redis, key, token)
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
