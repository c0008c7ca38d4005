// Package sale serves an order: it waits for the lock, sells from the shelf under it, releases the lock, and returns a
// receipt. It is the same for every rung. Read [Shop.Decrease].
package sale

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stockapi/internal/batch"
	"stockapi/internal/lock"
	"stockapi/internal/narrate"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// The shop's own errors. It also returns those of packages lock and stock.
var (
	// ErrNoRung says that the ladder has no such rung.
	ErrNoRung = errors.New("no such rung")
	// ErrUnavailable says that this instance lacks a backend that the rung needs.
	ErrUnavailable = errors.New("rung is not configured")
	// ErrDraining says that the instance is shutting down: the order was not tried, or it stopped waiting for the lock.
	ErrDraining = errors.New("this instance is shutting down; ask another")
	// ErrCallerBusy says that the same caller has another order under way. A caller is like a thread: it does one thing
	// at a time, because a reentrant lock cannot tell two orders of one caller apart.
	ErrCallerBusy = errors.New("this caller has an order under way")
)

// An Order is one request to sell.
type Order struct {
	ID       string
	Product  string
	Quantity int64
	Items    []stock.Item   // several products, instead of Product and Quantity; each product once
	Wait     *time.Duration // how long to wait for the lock; nil: the rung's default
	TTL      time.Duration  // of the lease
	Work     time.Duration  // simulated business time between the read and the write
	Caller   int64          // the caller's number, for reentrant locks; 0: a new caller
	NoRenew  bool           // the lease ends after TTL, however long the work takes
	Permits  int64          // how many may hold a semaphore at once; 0: the rung's default
	Nested   bool           // the work takes the order's own lock a second time
	Trace    bool           // whether the receipt lists the Redis commands

	owner    *lock.Owner    // takes the order's locks
	narrated *narrate.Order // nil: nobody narrates
}

// lease describes the lease that the order wants.
func (o Order) lease() lock.Options {
	return lock.Options{TTL: o.TTL, NoRenew: o.NoRenew, Permits: o.Permits, Owner: o.owner}
}

// A Receipt reports the result of an order. With an error it holds what was known when the order failed.
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

	seat *batch.Seat // in the batch of orders that had the lease; nil: it had it alone
}

// settle tells under whose lease the order was served, once it has ended.
func (r *Receipt) settle() {
	if r.seat == nil {
		return
	}
	if r.SoldBy = r.seat.SoldBy(); r.SoldBy != "" {
		r.Lease = nil
	}
}

// A Lease reports when an order held its lock. Between the two times the order had reason to believe that it held the
// lock: they are read after the acquire has returned and before the release is sent.
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

// A Shop sells through rungs of the ladder, as far as its backends allow.
type Shop struct {
	instance string
	rungs    []rung
	byID     map[string]*rung
	shelf    *stock.Shelf
	metrics  *Metrics
	log      *slog.Logger
	narrator *narrate.Narrator // nil: none
	notes    map[string]string
	callers  callers
	open     context.Context // ends with the cause ErrDraining when the shop closes
	close    context.CancelCauseFunc
}

type rung struct {
	lock.Rung
	try     lock.TryAll
	acquire lock.AcquireAll
	wait    lock.Waiting
	sell    stock.Sell
	missing string // the backend that the rung needs and the instance lacks, or ""
	readers *rung  // the rung for readers, where they share a lock, or nil
	inner   *rung  // the rung whose lock nested work takes
}

// New returns the shop of an instance, which sells through these rungs.
func New(
	instance string, ladder []lock.Rung, shelf *stock.Shelf, b lock.Backends, m *Metrics, log *slog.Logger,
) *Shop {
	s := &Shop{instance: instance, shelf: shelf, metrics: m, log: log,
		byID: map[string]*rung{}, notes: map[string]string{}}
	s.open, s.close = context.WithCancelCause(context.Background())
	for _, r := range ladder {
		s.rungs = append(s.rungs, newRung(r, b, shelf))
	}
	for i := range s.rungs {
		r := &s.rungs[i]
		r.inner = r
		if r.readers != nil {
			r.readers.inner = r
		}
		s.byID[r.Number], s.byID[r.Name] = r, r
	}
	return s
}

func newRung(r lock.Rung, b lock.Backends, shelf *stock.Shelf) rung {
	if missing := b.Missing(r); missing != "" {
		return rung{Rung: r, missing: missing}
	}
	one, wait := r.Build(b)
	try, acquire := r.BuildSeveral(b)
	if try == nil {
		try, acquire = lock.OfOne(one), lock.AllAtOnce
	}
	return rung{Rung: r, try: try, acquire: acquire, wait: wait, sell: shelf.Seller(r.Shelf),
		readers: newReaders(r, b, shelf)}
}

// maxWait returns how long an order waits for the lock, or retries while others write first.
func (r *rung) maxWait(o Order) time.Duration {
	if o.Wait != nil {
		return *o.Wait
	}
	return r.Wait
}

// Note attaches a remark on a rung to what Rungs returns. Call it before the shop opens.
func (s *Shop) Note(number, remark string) { s.notes[number] = remark }

// Narrate makes the shop print the steps of its orders. Call it before the shop opens.
func (s *Shop) Narrate(n *narrate.Narrator) { s.narrator = n }

// Close makes the shop refuse new orders, orders that wait for a lock, and those that retry because others wrote first.
// Orders that hold a lock go on.
func (s *Shop) Close() { s.close(ErrDraining) }

// Closed reports whether Close was called.
func (s *Shop) Closed() bool { return s.open.Err() != nil }

// Decrease sells an order under the lock of a rung, given by number or name. It returns ErrNoRung, ErrUnavailable, the
// errors of packages lock and stock, or the error of a backend, and with each the receipt as far as it is known.
func (s *Shop) Decrease(ctx context.Context, id string, o Order) (Receipt, error) {
	r, ok := s.byID[id]
	if !ok {
		return Receipt{}, fmt.Errorf("%w: %s", ErrNoRung, id)
	}
	return s.serve(ctx, r, o)
}

// serve serves an order, once its rung is known.
func (s *Shop) serve(ctx context.Context, r *rung, o Order) (receipt Receipt, err error) {
	if o.ID == "" {
		o.ID = rand.Text()
	}
	first := o.items()[0]
	receipt = Receipt{Rung: r.Number, Product: first.Product, Quantity: first.Quantity, Instance: s.instance, Order: o.ID}
	if s.narrator != nil {
		ctx, o.narrated = s.narrator.Begin(ctx, narrate.Wants{ID: o.ID, Rung: r.Number, Items: o.items(), TTL: o.TTL})
		defer func() { o.narrated.Failed(err) }()
	}
	if s.Closed() {
		return receipt, ErrDraining
	}
	if r.missing != "" {
		return receipt, fmt.Errorf("%w: %s needs %s", ErrUnavailable, r.Number, r.missing)
	}
	if err := r.fits(o); err != nil {
		return receipt, err
	}
	owner, leave, err := s.callers.enter(o.Caller)
	if err != nil {
		return receipt, err
	}
	defer leave()
	o.owner = owner
	if o.Trace {
		var recorder *trace.Recorder
		ctx, recorder = trace.Record(ctx)
		defer func() { receipt.Trace = recorder.Events() }()
	}
	err = s.deal(ctx, r, o, &receipt)
	receipt.settle()
	return receipt, err
}

// deal takes the lock of an order's product, or products, sells or reads under it, and releases it.
func (s *Shop) deal(ctx context.Context, r *rung, o Order, receipt *Receipt) (err error) {
	lease, err := s.acquire(ctx, r, o, receipt)
	if err != nil {
		return err
	}
	defer func() { err = s.release(ctx, r, o, lease, receipt, err) }()
	err = s.sell(r, o, lease, receipt)
	o.narrated.Failed(err)
	return err
}

// sell takes the ordered units off the shelf: those of one product as the rung does, those of several all or none.
func (s *Shop) sell(r *rung, o Order, lease *lock.Lease, receipt *Receipt) (err error) {
	items, left := o.items(), make([]int64, 1)
	if len(items) == 1 {
		left[0], err = r.sell(lease.Context, stock.Order{ID: o.ID, Product: items[0].Product,
			Quantity: items[0].Quantity, Fence: lease.Fence, Seat: lease.Seat, MaxWait: r.maxWait(o), Waiting: s.open,
			Work: s.work(r, o)})
		receipt.seat = lease.Seat
	} else {
		left, err = s.shelf.SellAll(lease.Context, items, s.work(r, o))
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

// acquire waits for the lock and records the lease in the receipt.
func (s *Shop) acquire(ctx context.Context, r *rung, o Order, receipt *Receipt) (*lock.Lease, error) {
	start := time.Now()
	lease, err := s.take(ctx, r, o)
	waited := time.Since(start)
	receipt.WaitedMS += milliseconds(waited)
	s.metrics.Wait.WithLabelValues(r.Number).Observe(waited.Seconds())
	if err != nil {
		return nil, err
	}
	s.metrics.Held.WithLabelValues(r.Number).Inc()
	receipt.Lease = newLease(lease)
	o.narrated.Has(lease, waited)
	return lease, nil
}

// take returns a lease of the order's locks. If the shelf needs no lock, it is a lease of none. An order that may not
// wait makes one attempt, and does not need to know when the shop closes.
func (s *Shop) take(ctx context.Context, r *rung, o Order) (*lock.Lease, error) {
	switch {
	case r.Shelf.LockFree():
		return &lock.Lease{Context: ctx}, nil
	case r.maxWait(o) <= 0:
		return r.take(ctx, ctx, o)
	}
	waiting, stop := s.untilClosed(ctx)
	defer stop()
	return r.take(ctx, waiting, o)
}

// take tries to acquire the locks of an order until it has them or may wait no longer. When the shop closes, an attempt
// under way is still completed: an attempt runs under ctx, and only the wait between two attempts under waiting.
func (r *rung) take(ctx, waiting context.Context, o Order) (*lock.Lease, error) {
	attempt := func(ctx context.Context, keys ...string) (*lock.Lease, error) {
		if ctx.Err() != nil { // the caller went while the order waited: a command that cannot be sent would be undone
			return nil, context.Cause(ctx)
		}
		lease, err := dropBusyTrace(ctx, func() (*lock.Lease, error) { return r.try(ctx, keys, o.lease()) })
		o.narrated.Busy(err, r.maxWait(o))
		return lease, err
	}
	return r.acquire(ctx, waiting, r.keys(o), r.maxWait(o), r.wait, attempt)
}

// dropBusyTrace removes an attempt that found the lock busy from the trace: a waiter makes many, and they say nothing.
func dropBusyTrace(ctx context.Context, try func() (*lock.Lease, error)) (*lock.Lease, error) {
	recorder := trace.From(ctx)
	mark := recorder.Mark()
	lease, err := try()
	if errors.Is(err, lock.ErrBusy) {
		recorder.Rewind(mark)
	}
	return lease, err
}

// untilClosed returns a context that ends with ctx, and with the cause ErrDraining when the shop closes.
func (s *Shop) untilClosed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.open, func() { cancel(context.Cause(s.open)) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// release releases the lock. A lost lease is reported in the receipt, and is no error of the sale: a sale that was
// written stays sold, and an error would hide the unit that is sold twice.
func (s *Shop) release(
	ctx context.Context, r *rung, o Order, lease *lock.Lease, receipt *Receipt, sale error,
) error {
	held := receipt.Lease
	held.ReleasedAt = time.Now()
	lostAtWork := errors.Is(context.Cause(lease.Context), lock.ErrLost)
	unlock := lease.Unlock
	if s.forgets(ctx, o, lease, sale) {
		unlock = lease.Forget
	}
	err := unlock(ctx)
	o.narrated.Released(lease, err)
	held.Lost = lostAtWork || errors.Is(err, lock.ErrLost)
	if lease.Token == "" {
		receipt.Lease = nil
	}
	s.metrics.Held.WithLabelValues(r.Number).Dec()
	s.metrics.Hold.WithLabelValues(r.Number).Observe(held.ReleasedAt.Sub(held.AcquiredAt).Seconds())
	switch {
	case held.Lost:
		s.metrics.Lost.WithLabelValues(receipt.Rung).Inc()
		s.log.Warn("lease lost", "rung", receipt.Rung, "product", receipt.Product, "order", receipt.Order)
	case err != nil:
		s.log.Warn("release failed", "rung", receipt.Rung, "product", receipt.Product, "order", receipt.Order, "err", err)
	}
	return sale
}

// forgets reports whether the lock has to forget its product, because that does not exist. Else anybody could fill the
// lock's server with products of any name, since a fence is kept for an hour. The client may have gone before the stock
// was read, so the stock is asked again. That costs commands only where nothing is sold.
//
// No fence goes back by that. If the stock remembers a token, even of a product that was removed, the lock keeps its
// own. If not, nobody has read the stock under any token, and the first holder after a PUT draws one from the clock. It
// is asked and forgotten while the lock is held, so that nobody else draws between the two.
func (s *Shop) forgets(ctx context.Context, o Order, lease *lock.Lease, sale error) bool {
	if lease.Fence == 0 || sale == nil || !errors.Is(sale, stock.ErrNoProduct) && ctx.Err() == nil {
		return false
	}
	known, err := s.shelf.Remembers(context.WithoutCancel(ctx), o.Product)
	return err == nil && !known
}

// work returns the business work of an order: it sleeps for the order's simulated work, or until the context ends. A
// nested order then runs code that takes the lock itself, as code does that does not know that its caller holds it.
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

// nested takes the order's lock a second time, or for a reader the writers' lock, and releases it.
func (s *Shop) nested(ctx context.Context, r *rung, o Order) error {
	o.narrated.Nested("takes its own lock again")
	start := time.Now()
	waiting, stop := s.untilClosed(ctx)
	defer stop()
	again, err := r.inner.take(ctx, waiting, o)
	if err != nil {
		waited := time.Since(start).Round(time.Millisecond)
		return fmt.Errorf("asked again for the lock that it holds, for %s: %w", waited, err)
	}
	o.narrated.Nested("has it twice, and gives one back")
	return again.Unlock(ctx)
}

// units returns the serial numbers of the units sold by an order that left so many on the shelf.
func units(left, quantity int64) []int64 {
	sold := make([]int64, quantity)
	for i := range sold {
		sold[i] = left + 1 + int64(i)
	}
	return sold
}

// A Status describes a rung, and whether this instance can serve it.
type Status struct {
	Number    string   `json:"number"`
	Name      string   `json:"name"`
	Does      string   `json:"does"`
	Defect    string   `json:"defect"`
	Needs     []string `json:"needs"`
	Wait      string   `json:"wait"` // how long an order waits for the lock by default
	Available bool     `json:"available"`
	Note      string   `json:"note,omitempty"`
}

// Rungs lists the rungs of the shop, lowest first.
func (s *Shop) Rungs() []Status {
	list := make([]Status, len(s.rungs))
	for i, r := range s.rungs {
		list[i] = Status{Number: r.Number, Name: r.Name, Does: r.Does, Defect: r.Defect,
			Needs: append([]string{}, r.Needs...), Wait: r.Wait.String(), Available: r.missing == "",
			Note: s.notes[r.Number]}
		if r.missing != "" {
			list[i].Note = "needs " + r.missing
		}
	}
	return list
}
