package stock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// An Item is a product and a number of its units.
type Item struct {
	Product  string
	Quantity int64
}

// SellAll is [Shelf.Sell] for several products. It sells all items or none, and returns how many units of each are
// left. It reads and checks all stocks before the work, and writes them in one MULTI, so that a crash leaves all of
// them written or none. On a cluster a MULTI is limited to one slot: if the products are in several, the client refuses
// it and nothing is sold.
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
	if err := doWork(ctx, Order{Work: work}); err != nil {
		return nil, err
	}
	return left, uncancelable(ctx, func(ctx context.Context) error {
		_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, item := range items {
				p.Set(ctx, Key(item.Product), left[i], redis.KeepTTL)
			}
			return nil
		})
		return err
	})
}
