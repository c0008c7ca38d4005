package sale

import (
	"context"
	"fmt"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// An Admin sets the stock and breaks locks, beside all orders.
type Admin struct {
	*stock.Shelf
	Locks lock.Backends
}

// BreakLocks removes the locks of a product on every rung, and returns how many keys it removed.
func (a Admin) BreakLocks(ctx context.Context, product string) (int64, error) {
	removed, err := a.Locks.Break(ctx, product)
	if err != nil {
		return removed, fmt.Errorf("break the locks of %s: %w", product, err)
	}
	return removed, nil
}
