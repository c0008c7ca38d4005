package sale

import (
	"context"
	"fmt"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// Read serves an order that sells nothing: it reads the stock under the lock that the readers of a rung share. The
// order's work is done while the lock is held; nested work asks for the writers' lock. It returns what Decrease
// returns, and ErrNoRung if the rung has no lock for readers.
func (s *Shop) Read(ctx context.Context, id string, o Order) (Receipt, error) {
	r, ok := s.byID[id]
	if !ok || r.missing == "" && r.readers == nil {
		return Receipt{}, fmt.Errorf("%w with a lock for readers: %s", ErrNoRung, id)
	}
	if r.missing == "" {
		r = r.readers
	}
	o.Quantity = 0
	return s.serve(ctx, r, o)
}

// newReaders returns the rung for readers, which has the readers' lock and only reads the stock, or nil if there is
// none.
func newReaders(r lock.Rung, b lock.Backends, shelf *stock.Shelf) *rung {
	tryLock, wait := r.BuildRead(b)
	if tryLock == nil {
		return nil
	}
	return &rung{Rung: r, try: lock.OfOne(tryLock), acquire: lock.AllAtOnce, wait: wait, sell: shelf.Look}
}
