package stock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// sellCAS sells without a lock: compare and set, by WATCH and MULTI. It writes only if the stock still is what it
// was at the read. If not, it retries everything, the work included, for at most the order's MaxWait, and no longer
// than the order may wait: nothing is written yet, so a process that shuts down can refuse the order.
//
// The work comes before the WATCH. A WATCH occupies a connection, and if orders held theirs for as long as they work, a
// few of them would empty the pool and no lease could be renewed. So the stock is read twice, and the second value is
// compared with the first. That is enough, because the decision depends on the value alone: if others wrote and the
// value is the same again, the sale is the same as one that began after them.
func (s *Shelf) sellCAS(ctx context.Context, o Order) (int64, error) {
	for deadline := time.Now().Add(o.MaxWait); ; {
		value, err := s.rdb.Get(ctx, Key(o.Product)).Result()
		left, err := parse(ctx, o.Product, value, err)
		if err != nil {
			return 0, err
		}
		left, err = decide(ctx, o, left)
		if err != nil {
			return left, err
		}
		err = s.compareAndSet(ctx, Key(o.Product), value, left)
		if !retryable(err) {
			return left, stockError(o.Product, err)
		}
		if o.Waiting != nil && o.Waiting.Err() != nil {
			return left, context.Cause(o.Waiting)
		}
		if !time.Now().Before(deadline) {
			return left, fmt.Errorf("%w: %w", ErrContended, err)
		}
	}
}

// errNotWatched means that no node of a cluster accepted the WATCH.
var errNotWatched = errors.New("the slot of the stock is moving")

// compareAndSet writes left to a key if the key holds the value old. Otherwise it returns [redis.TxFailedErr], or
// errNotWatched.
func (s *Shelf) compareAndSet(ctx context.Context, key, old string, left int64) error {
	written := errNotWatched // go-redis returns no error after too many redirections
	err := s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		var now string
		now, written = tx.Get(ctx, key).Result()
		if written == nil && now != old || errors.Is(written, redis.Nil) {
			written = redis.TxFailedErr
		}
		if written == nil {
			written = uncancelable(ctx, func(ctx context.Context) error {
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

// retryable reports whether to retry a compare-and-set: another order wrote first, or the slot is moving. In both cases
// nothing was written.
func retryable(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, asked := redis.IsAskError(err)
	return moved || asked || redis.IsTryAgainError(err) ||
		errors.Is(err, redis.TxFailedErr) || errors.Is(err, errNotWatched)
}
