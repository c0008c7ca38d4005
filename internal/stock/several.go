package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// An Item is so many units of one product.
type Item struct {
	Product  string
	Quantity int64
}

// SellAll takes the units of several products off the shelf, of all or of none, and returns how many of each are left.
// It is [Shelf.Sell] for more than one: all stocks are read and looked at before the work, and the writes are one
// MULTI, so that a crash leaves all of them or none. On a cluster a MULTI does not reach across nodes: there the client
// refuses products that do not lie in one slot, and nothing is sold.
func (s *Shelf) SellAll(ctx context.Context, items []Item, work func(context.Context) error) ([]int64, error) {
	left := make([]int64, len(items))
	for i, item := range items {
		have, err := s.Left(ctx, item.Product)
		if err != nil {
			return nil, err
		}
		if have < item.Quantity {
			return nil, fmt.Errorf("%w: %d left of %s", ErrSoldOut, have, item.Product)
		}
		left[i] = have - item.Quantity
	}
	if err := worked(ctx, Order{Work: work}); err != nil {
		return nil, err
	}
	return left, seenThrough(ctx, func(ctx context.Context) error {
		_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, item := range items {
				p.Set(ctx, Key(item.Product), left[i], redis.KeepTTL)
			}
			return nil
		})
		return err
	})
}
