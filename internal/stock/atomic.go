package stock

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed take.lua
	takeSource string

	take = redis.NewScript(takeSource)
)

// sellAtomic sells without a lock: the script reads, decides and writes in one step. There is no time between the read
// and the write for the work. So the work comes first, and is wasted if the stock is sold out.
func (s *Shelf) sellAtomic(ctx context.Context, o Order) (int64, error) {
	err := doWork(ctx, o)
	if err != nil {
		return 0, err
	}
	var reply []int64
	err = uncancelable(ctx, func(ctx context.Context) error {
		reply, err = take.Run(ctx, s.rdb, []string{Key(o.Product)}, o.Quantity).Int64Slice()
		return err
	})
	if err = stockError(o.Product, err); err != nil {
		return 0, err
	}
	taken, left := reply[0] == 1, reply[1]
	if !taken {
		return left, soldOut(left)
	}
	return left, nil
}

// ScriptNames returns a readable name for each script of a shelf, by SHA-1 digest, for traces and faults.
func ScriptNames() map[string]string {
	return map[string]string{
		fencedRead.Hash(): "read", fencedWrite.Hash(): "write", take.Hash(): "take", put.Hash(): "put",
		open.Hash(): "open",
	}
}
