package stock

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

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

// fenceKey returns the key of the newest fencing token that the stock has seen. It is kept on the stock's server,
// because the stock has to refuse old tokens even after the lock's server has lost its data.
func fenceKey(product string) string { return "{" + Key(product) + "}:fence" }

// Remembers reports whether the shelf has a product, or still remembers a fencing token of it.
func (s *Shelf) Remembers(ctx context.Context, product string) (bool, error) {
	n, err := s.rdb.Exists(ctx, Key(product), fenceKey(product)).Result()
	if err != nil {
		return false, fmt.Errorf("look for the stock: %w", err)
	}
	return n > 0, nil
}

// readFenced reads the stock under the order's token, which the same script checks.
func (s *Shelf) readFenced(ctx context.Context, o Order) (int64, error) {
	keys := []string{Key(o.Product), fenceKey(o.Product)}
	value, err := fencedRead.Run(ctx, s.rdb, keys, o.Fence, fenceTTL.Milliseconds()).Text()
	return parse(ctx, o.Product, value, stale(err))
}

// writeFenced writes the stock under the order's token, which the same script checks.
func (s *Shelf) writeFenced(ctx context.Context, o Order, left int64) error {
	keys := []string{Key(o.Product), fenceKey(o.Product)}
	err := uncancelable(ctx, func(ctx context.Context) error {
		return stale(fencedWrite.Run(ctx, s.rdb, keys, o.Fence, left, fenceTTL.Milliseconds()).Err())
	})
	return stockError(o.Product, err)
}

// Newest returns the fencing token that the stock had seen when it refused an older one with ErrStale.
func Newest(err error) int64 {
	_, newest, _ := strings.Cut(err.Error(), "STALE a newer token has been seen: ")
	fence, _ := strconv.ParseInt(newest, 10, 64) // 0: of an error that no script returned
	return fence
}

// stale turns the scripts' STALE error into ErrStale.
func stale(err error) error {
	if err != nil && redis.HasErrorPrefix(err, "STALE") {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}
