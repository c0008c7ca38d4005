package sale

import (
	"context"
	"errors"

	"stockapi/internal/stock"
)

// forgets reports whether a lock must forget its fence after a failed sale, because the product does not exist.
// Otherwise clients could fill the lock's server with names of products, since a fence is kept for an hour. The client
// may have gone before the stock was read, so the stock is read again.
//
// No fence goes backwards by that. If the stock remembers a token, even of a removed product, the lock keeps its own.
// If not, no order has read the stock under a token, and the first holder after a PUT draws one from the clock. Both
// steps happen while the lock is held, so no other order draws in between.
func (s *Shop) forgets(ctx context.Context, o Order, sale error) bool {
	if !errors.Is(sale, stock.ErrNoProduct) && ctx.Err() == nil {
		return false
	}
	known, err := s.shelf.Remembers(context.WithoutCancel(ctx), o.Product)
	return err == nil && !known
}
