package stock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// sellCAS sells without a lock: compare and set, by WATCH and MULTI. The write takes place only if the stock is what it
// was when it was read; if it is not, all of it is done again, the work included, while the order's patience lasts.
//
// The work comes before the WATCH. A WATCH belongs to a connection, and one that is held for as long as the work takes is
// missing to everybody else: as many orders as the pool has connections, and no lease can be renewed. So the stock is
// read twice, and the second value is compared with the first. That is enough, as what is decided depends on the value
// alone: if others wrote and the value is the same again, the sale is the same as one that began after them.
func (s *Shelf) sellCAS(ctx context.Context, o Order) (int64, error) {
	for deadline := time.Now().Add(o.Patience); ; {
		value, err := s.rdb.Get(ctx, Key(o.Product)).Result()
		left, err := parse(o.Product, value, err)
		if err != nil {
			return 0, err
		}
		left, err = decide(ctx, o, left)
		if err != nil {
			return left, err
		}
		err = s.compareAndSet(ctx, Key(o.Product), value, left)
		if !changed(err) {
			return left, err
		}
		if !time.Now().Before(deadline) {
			return left, fmt.Errorf("%w: %w", ErrContended, err)
		}
	}
}

// errNotWatched says that no node of a cluster has let itself be asked to WATCH.
var errNotWatched = errors.New("the slot of the stock is moving")

// compareAndSet writes a key if it holds a value. It returns [redis.TxFailedErr] if it does not, or errNotWatched.
func (s *Shelf) compareAndSet(ctx context.Context, key, old string, left int64) error {
	written := errNotWatched // go-redis returns no error when it was sent from node to node too often
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		var now string
		now, written = tx.Get(ctx, key).Result()
		if written == nil && now != old || errors.Is(written, redis.Nil) {
			written = redis.TxFailedErr
		}
		if written == nil {
			written = seenThrough(ctx, func(ctx context.Context) error {
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, left, redis.KeepTTL).Err() })
				return err
			})
		}
		return written
	}, key)
	if err != nil {
		return err
	}
	return written
}

// changed reports whether a compare-and-set is worth doing again. A slot that moves is as good as a write by somebody
// else: nothing was written, as Redis has refused.
func changed(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, asked := redis.IsAskError(err)
	return errors.Is(err, redis.TxFailedErr) || errors.Is(err, errNotWatched) || moved || asked || redis.IsTryAgainError(err)
}
