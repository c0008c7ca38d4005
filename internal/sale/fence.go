package sale

import (
	"context"
	"errors"

	"stockapi/internal/stock"
)

// forgets reports whether a lock with a fence has to forget the product of a sale that failed, because there is no such
// product. Else anybody could fill the lock's server with products of any name, since a fence is kept for an hour. The
// client may have gone before the stock was read, so the stock is asked again.
//
// No fence goes back by that. If the stock remembers a token, even of a product that was removed, the lock keeps its
// own. If not, nobody has read the stock under any token, and the first holder after a PUT draws one from the clock. It
// is asked and forgotten while the lock is held, so that nobody else draws between the two.
func (s *Shop) forgets(ctx context.Context, o Order, sale error) bool {
	if !errors.Is(sale, stock.ErrNoProduct) && ctx.Err() == nil {
		return false
	}
	known, err := s.shelf.Remembers(context.WithoutCancel(ctx), o.Product)
	return err == nil && !known
}
