// Package sale serves an order: it locks, reads, decides, works, writes and releases, and returns a receipt. It is the
// same for every rung. Read [Shop.Decrease], then the files for special cases: several.go for orders of several
// products, nested.go for work that takes its own lock, callers.go for the owners of locks, fence.go for the fences of
// products that do not exist. shop.go is what all orders share, metrics.go the metrics.
package sale

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"stockapi/internal/lock"
	"stockapi/internal/narrate"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// An Order is one request to sell.
type Order struct {
	ID       string
	Product  string
	Quantity int64
	Items    []stock.Item   // several products, instead of Product and Quantity; each product once
	Wait     *time.Duration // how long to wait for the lock; nil: the rung's default
	Work     time.Duration  // simulated business time between the read and the write
	Caller   int64          // the caller's number, for reentrant locks; 0: a new caller
	Nested   bool           // the work takes the order's own lock a second time
	Trace    bool           // whether the receipt lists the Redis commands

	lock.Options // of the lease; the shop sets the owner, from the caller

	narrated *narrate.Order // nil: it is not narrated
}

// A Receipt reports the result of an order. With an error it has what was known by then.
type Receipt struct {
	Rung     string        `json:"rung"`
	Product  string        `json:"product"`
	Quantity int64         `json:"quantity"`
	Left     int64         `json:"left"`
	Units    []int64       `json:"units"`           // the serial numbers sold: no two sales may share one
	Items    []Item        `json:"items,omitempty"` // of several products; the fields above then repeat the first item
	Instance string        `json:"instance"`
	Order    string        `json:"order"`
	Lease    *Lease        `json:"lease,omitempty"`
	SoldBy   string        `json:"sold_by,omitempty"` // the order of a batch that shows its lease, on v19
	WaitedMS float64       `json:"waited_ms"`
	Trace    []trace.Event `json:"trace,omitempty"`
	Narrated bool          `json:"-"` // whether the narration says why the order failed
}

// A Lease reports when an order held its lock, as the order believed: the times are read after the acquire has returned
// and before the release is sent.
type Lease struct {
	Token      string    `json:"token"`
	Fence      int64     `json:"fence"` // 0 where the rung has no fencing tokens
	AcquiredAt time.Time `json:"acquired_at"`
	ReleasedAt time.Time `json:"released_at"`
	Lost       bool      `json:"lost"` // whether the lease had ended before the release
	// ValidMS is the validity of the lease from AcquiredAt on: the TTL, less the time spent acquiring, less the drift.
	// It is nil if the lease does not expire, or the rung does not compute when it does.
	ValidMS *float64 `json:"valid_ms,omitempty"`
}

// newLease reports a lease that was acquired just now.
func newLease(l *lock.Lease) *Lease {
	report := &Lease{Token: l.Token, Fence: l.Fence, AcquiredAt: time.Now()}
	if until, known := l.ValidUntil(); known {
		valid := milliseconds(until.Sub(report.AcquiredAt))
		report.ValidMS = &valid
	}
	return report
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Decrease sells an order under the lock of a rung, given by number or name. It returns ErrNoRung, ErrUnavailable, the
// errors of packages lock and stock, or the error of a backend, and with each the receipt as far as it is known.
func (s *Shop) Decrease(ctx context.Context, id string, o Order) (Receipt, error) {
	r, err := s.find(id)
	if err != nil {
		return Receipt{Order: o.ID}, err
	}
	return s.serve(ctx, r, o)
}

// serve is the sale: lock, read, decide, work, write, release. The four in the middle are a [stock.Sell].
func (s *Shop) serve(ctx context.Context, r *rung, o Order) (receipt Receipt, err error) {
	if o.ID == "" {
		o.ID = rand.Text()
	}
	first := o.items()[0]
	receipt = Receipt{Rung: r.Number, Product: first.Product, Quantity: first.Quantity, Instance: s.instance, Order: o.ID}
	if s.narrator != nil {
		ctx, o.narrated = s.narrator.Begin(ctx, narrate.Wants{ID: o.ID, Rung: r.Number, Items: o.items(), TTL: o.TTL})
		defer func() { receipt.Narrated = o.narrated.Failed(err) }()
	}
	if err := s.accepts(r, o); err != nil {
		return receipt, err
	}
	caller, leave, err := s.callers.enter(o.Caller)
	if err != nil {
		return receipt, err
	}
	defer leave()
	if !r.Shelf.LockFree() {
		o.Owner = lock.NewOwner(strconv.FormatInt(caller, 10))
	}
	if o.Trace {
		var recorder *trace.Recorder
		ctx, recorder = trace.Record(ctx)
		defer func() { receipt.Trace = recorder.Events() }()
	}

	lease, err := s.acquire(ctx, r, o, &receipt)
	if err != nil {
		return receipt, err
	}
	defer func() { s.release(ctx, o, lease, &receipt, err) }()
	err = s.sell(r, o, lease, &receipt)
	return receipt, err
}

// acquire waits for the lock and records the lease in the receipt.
func (s *Shop) acquire(ctx context.Context, r *rung, o Order, receipt *Receipt) (*lock.Lease, error) {
	start := time.Now()
	lease, err := s.take(ctx, r, o)
	waited := time.Since(start)
	receipt.WaitedMS = milliseconds(waited)
	s.metrics.Wait.WithLabelValues(r.Number).Observe(waited.Seconds())
	if err != nil {
		return nil, err
	}
	s.metrics.Held.WithLabelValues(r.Number).Inc()
	receipt.Lease = newLease(lease)
	o.narrated.Has(lease, waited)
	return lease, nil
}

// take tries to acquire the locks of an order until it holds them or may wait no longer. When the shop closes, an
// attempt in flight is completed: attempts run under ctx, and only the waits between them under waiting. If the shelf
// needs no lock, take returns an empty lease.
func (s *Shop) take(ctx context.Context, r *rung, o Order) (*lock.Lease, error) {
	if r.Shelf.LockFree() {
		return &lock.Lease{Context: ctx}, nil
	}
	waiting := ctx
	if r.maxWait(o) > 0 {
		var stop func()
		waiting, stop = s.untilClosed(ctx)
		defer stop()
	}
	return r.acquire(ctx, waiting, r.keys(o), r.maxWait(o), r.wait,
		func(ctx context.Context, keys ...string) (*lock.Lease, error) {
			if ctx.Err() != nil { // the caller went while the order waited: a command that cannot be sent would be undone
				return nil, context.Cause(ctx)
			}
			mark := trace.From(ctx).Mark()
			lease, err := r.try(ctx, keys, o.Options)
			if errors.Is(err, lock.ErrBusy) { // a waiter makes many such attempts
				trace.From(ctx).Rewind(mark)
			}
			o.narrated.Busy(err, r.maxWait(o))
			return lease, err
		})
}

// sell takes the ordered units off the shelf: those of one product as the rung does, those of several all or none.
func (s *Shop) sell(r *rung, o Order, lease *lock.Lease, receipt *Receipt) (err error) {
	left := make([]int64, 1)
	if len(o.Items) > 1 {
		left, err = s.shelf.SellAll(lease.Context, o.Items, s.work(r, o))
	} else {
		item := o.items()[0]
		left[0], err = r.sell(lease.Context, stock.Order{ID: o.ID, Product: item.Product, Quantity: item.Quantity,
			Fence: lease.Fence, Seat: lease.Seat, MaxWait: r.maxWait(o), Waiting: s.open, Work: s.work(r, o)})
	}
	if err != nil {
		return err
	}
	o.narrated.Sold(left)
	if lease.Sold != nil {
		lease.Sold()
	}
	receipt.sold(o, left)
	return nil
}

// work returns the business work of an order: it sleeps for the order's simulated work, or until the context ends. A
// nested order then takes the lock again, as code does that does not know that its caller holds it.
func (s *Shop) work(r *rung, o Order) func(context.Context) error {
	if o.Work <= 0 && !o.Nested {
		return noWork
	}
	return func(ctx context.Context) error {
		if o.Work > 0 {
			o.narrated.Works(o.Work)
			timer := time.NewTimer(o.Work)
			defer timer.Stop()
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		}
		if o.Nested && ctx.Err() == nil {
			return s.nested(ctx, r, o)
		}
		return nil
	}
}

func noWork(context.Context) error { return nil }

// release releases the lock. A lost lease is reported in the receipt, and is no error of the sale: a sale that was
// written stays sold, and an error would hide the unit that is sold twice.
func (s *Shop) release(ctx context.Context, o Order, lease *lock.Lease, receipt *Receipt, sale error) {
	o.narrated.Failed(sale)
	held := receipt.Lease
	held.ReleasedAt = time.Now()
	lostAtWork := errors.Is(context.Cause(lease.Context), lock.ErrLost)
	unlock := lease.Unlock
	if lease.Fence != 0 && sale != nil && s.forgets(ctx, o, sale) {
		unlock = lease.Forget
	}
	err := unlock(ctx)
	told := o.narrated.Released(lease, err)
	held.Lost = lostAtWork || errors.Is(err, lock.ErrLost)
	receipt.SoldBy = lease.Seat.SoldBy()
	if lease.Token == "" || receipt.SoldBy != "" {
		receipt.Lease = nil
	}
	s.metrics.Held.WithLabelValues(receipt.Rung).Dec()
	s.metrics.Hold.WithLabelValues(receipt.Rung).Observe(held.ReleasedAt.Sub(held.AcquiredAt).Seconds())
	if held.Lost {
		s.metrics.Lost.WithLabelValues(receipt.Rung).Inc()
	}
	switch {
	case told: // the log would repeat it
	case held.Lost:
		s.log.Warn("lease lost", "rung", receipt.Rung, "product", receipt.Product, "order", receipt.Order)
	case err != nil:
		s.log.Warn("release failed", "rung", receipt.Rung, "product", receipt.Product, "order", receipt.Order, "err", err)
	}
}
