package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// An Item is a product and a number of its units.
type Item struct {
	Product  string
	Quantity int64
}

// SellAll is the naive [Sell] for several products. It sells all items or none, and returns how many units of each are
// left. It reads and checks all stocks before the work, and writes them in one MULTI, so that a crash leaves all of
// them written or none. On a cluster a MULTI is limited to one slot: see [Shelf.InOneSlot].
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
	return left, stockError(items[0].Product, s.writeAll(ctx, items, left))
}

// OnCluster reports whether the shelf is in a Redis Cluster.
func (s *Shelf) OnCluster() bool {
	_, cluster := s.rdb.(*redis.ClusterClient)
	return cluster
}

// InOneSlot reports whether one transaction can write the stocks of all items: on a cluster those of one slot.
func (s *Shelf) InOneSlot(items []Item) bool {
	return !s.OnCluster() || !slices.ContainsFunc(items, func(item Item) bool {
		return slotOf(Key(item.Product)) != slotOf(Key(items[0].Product))
	})
}

// slotOf returns the slot of a cluster that holds a key without braces: its CRC-16/XMODEM modulo 16384, as in the
// specification of Redis Cluster.
func slotOf(key string) uint16 {
	var crc uint16
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*0x1021
		}
	}
	return crc % 16384
}

// writeAll writes what is left of each item's product in one transaction.
func (s *Shelf) writeAll(ctx context.Context, items []Item, left []int64) error {
	var written []redis.Cmder
	err := uncancelable(ctx, func(ctx context.Context) (err error) {
		written, err = s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, item := range items {
				p.SetArgs(ctx, Key(item.Product), left[i], replace)
			}
			return nil
		})
		return err
	})
	if errors.Is(err, redis.Nil) && slices.ContainsFunc(written, func(c redis.Cmder) bool { return c.Err() == nil }) {
		return fmt.Errorf("%w: a stock was written, and another was gone", ErrUnknown)
	}
	return err
}
