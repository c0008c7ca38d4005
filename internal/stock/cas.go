package stock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// sellCAS sells without a lock: compare and set, by WATCH and MULTI. The write takes place only if nobody has written
// since the read; if somebody has, all of it is done again, the work included, while the order's patience lasts.
func (s *Shelf) sellCAS(ctx context.Context, o Order) (left int64, err error) {
	for deadline := time.Now().Add(o.Patience); ; {
		err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
			value, err := tx.Get(ctx, Key(o.Product)).Result()
			left, err = parse(o.Product, value, err)
			if err != nil {
				return err
			}
			left, err = decide(ctx, o, left)
			if err != nil {
				return err
			}
			return seenThrough(ctx, func(ctx context.Context) error {
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, Key(o.Product), left, 0).Err() })
				return err
			})
		}, Key(o.Product))
		if !errors.Is(err, redis.TxFailedErr) {
			return left, err
		}
		if !time.Now().Before(deadline) {
			return left, fmt.Errorf("%w: %w", ErrContended, err)
		}
	}
}
