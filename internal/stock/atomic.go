package stock

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed take.lua
	takeSource string

	take = redis.NewScript(takeSource)
)

// sellAtomic sells without a lock: the script reads, decides and writes in one step. So the work cannot lie between
// reading and writing; it comes first, and may turn out to have been in vain.
func (s *Shelf) sellAtomic(ctx context.Context, o Order) (int64, error) {
	err := worked(ctx, o)
	if err != nil {
		return 0, err
	}
	var reply []int64
	err = seenThrough(ctx, func(ctx context.Context) error {
		reply, err = take.Run(ctx, s.rdb, []string{Key(o.Product)}, o.Quantity).Int64Slice()
		return err
	})
	if err = readable(o.Product, err); err != nil {
		return 0, err
	}
	taken, left := reply[0] == 1, reply[1]
	if !taken {
		return left, fmt.Errorf("%w: %d left", ErrSoldOut, left)
	}
	return left, nil
}

// ScriptNames returns, by SHA-1 digest, a readable name for each script that a shelf sends, for those who trace
// commands.
func ScriptNames() map[string]string {
	return map[string]string{fencedRead.Hash(): "read", fencedWrite.Hash(): "write", take.Hash(): "take", put.Hash(): "put"}
}
