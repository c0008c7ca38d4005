package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ownerCheck is v3, step 3 of the article: the key holds the owner's token, and the owner checks it before the delete.
// Defect: the check and the delete are two commands. The lock can expire and change hands between them.
func ownerCheck(rt runtime) TryLock {
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
			owner, err := rt.Redis.Get(ctx, key).Result()
			if errors.Is(err, redis.Nil) || err == nil && owner != token {
				return ErrLost
			}
			if err != nil {
				return fmt.Errorf("check the owner: %w", err)
			}
			return rt.Redis.Del(ctx, key).Err()
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
