package stock

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed take.lua
	takeSource string

	take = redis.NewScript(takeSource)
)

// sellAtomic sells without a lock: the script reads, decides and writes in one step. So the work cannot lie between
// reading and writing; it comes first, and may turn out to have been in vain.
func (s *Shelf) sellAtomic(ctx context.Context, o Order) (left int64, err error) {
	if err := worked(ctx, o); err != nil {
		return 0, err
	}
	err = seenThrough(ctx, func(ctx context.Context) error {
		left, err = take.Run(ctx, s.rdb, []string{Key(o.Product)}, o.Quantity).Int64()
		return err
	})
	if left, err = parse(o.Product, strconv.FormatInt(left, 10), err); err != nil {
		return 0, err
	}
	if left < 0 {
		return -1 - left, fmt.Errorf("%w: %d left", ErrSoldOut, -1-left)
	}
	return left, nil
}

// ScriptNames returns, by SHA-1 digest, a readable name for each script that a shelf sends, for those who trace
// commands.
func ScriptNames() map[string]string {
	return map[string]string{fencedRead.Hash(): "read", fencedWrite.Hash(): "write", take.Hash(): "take"}
}
