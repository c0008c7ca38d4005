package stock

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed fenced_read.lua
	fencedReadSource string
	//go:embed fenced_write.lua
	fencedWriteSource string

	fencedRead  = redis.NewScript(fencedReadSource)
	fencedWrite = redis.NewScript(fencedWriteSource)
)

// fenceKey holds the newest fencing token that the stock has seen. It lies with the stock, not with the lock: the
// stock has to be able to refuse also when the lock's server has forgotten everything.
func fenceKey(product string) string { return "{" + Key(product) + "}:fence" }

// sellFenced is Sell with the token checked on reading and on writing, each in one step with it.
func (s *Shelf) sellFenced(ctx context.Context, o Order) (int64, error) {
	keys := []string{Key(o.Product), fenceKey(o.Product)}
	value, err := fencedRead.Run(ctx, s.rdb, keys, o.Fence, remembered.Milliseconds()).Text()
	left, err := parse(o.Product, value, stale(err))
	if err != nil {
		return 0, err
	}
	return s.writeFenced(ctx, o, left)
}

// sellWriteFenced is sellFenced as it is often drawn: whoever writes shows the token, whoever reads does not.
func (s *Shelf) sellWriteFenced(ctx context.Context, o Order) (int64, error) {
	left, err := s.Left(ctx, o.Product)
	if err != nil {
		return 0, err
	}
	return s.writeFenced(ctx, o, left)
}

func (s *Shelf) writeFenced(ctx context.Context, o Order, left int64) (int64, error) {
	left, err := decide(ctx, o, left)
	if err != nil {
		return left, err
	}
	keys := []string{Key(o.Product), fenceKey(o.Product)}
	err = seenThrough(ctx, func(ctx context.Context) error {
		return stale(fencedWrite.Run(ctx, s.rdb, keys, o.Fence, left, remembered.Milliseconds()).Err())
	})
	return left, readable(o.Product, err)
}

// stale turns the scripts' word for it into ErrStale.
func stale(err error) error {
	if redis.HasErrorPrefix(err, "STALE") {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}
