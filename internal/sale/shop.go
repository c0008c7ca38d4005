package sale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"stockapi/internal/lock"
	"stockapi/internal/narrate"
	"stockapi/internal/stock"
)

// The shop's own errors. It also returns those of packages lock and stock.
var (
	// ErrNoRung means that the ladder has no such rung.
	ErrNoRung = lock.ErrNoRung
	// ErrUnavailable means that this instance lacks a backend that the rung needs.
	ErrUnavailable = errors.New("rung is not configured")
	// ErrDraining means that the instance is shutting down: the order was not tried, or it stopped waiting for the lock.
	ErrDraining = errors.New("this instance is shutting down; ask another")
)

// A Shop sells through rungs of the ladder, as far as its backends allow.
type Shop struct {
	instance string
	rungs    []*rung
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
	for _, one := range ladder {
		r := newRung(one, b, shelf)
		s.rungs = append(s.rungs, r)
		s.byID[r.Number], s.byID[r.Name] = r, r
		if r.missing == "" && r.SellsSeveral() && shelf.OnCluster() {
			s.Note(r.Number, severalSlots(r.Rung).Error())
		}
	}
	return s
}

func newRung(of lock.Rung, b lock.Backends, shelf *stock.Shelf) *rung {
	r := &rung{Rung: of, missing: b.Missing(of)}
	if r.missing != "" {
		return r
	}
	one, wait := of.Build(b)
	r.try, r.acquire = of.BuildSeveral(b)
	if r.try == nil {
		r.try, r.acquire = lock.OfOne(one), lock.AllAtOnce
	}
	r.wait, r.sell, r.inner = wait, shelf.Seller(of.Shelf), r
	if reading, wait := of.BuildRead(b); reading != nil {
		r.readers = &rung{Rung: of, try: lock.OfOne(reading), acquire: lock.AllAtOnce, wait: wait, sell: shelf.Look, inner: r}
	}
	return r
}

// find returns the rung of that number or name, in upper or lower case, or ErrNoRung.
func (s *Shop) find(id string) (*rung, error) {
	if r, ok := s.byID[strings.ToLower(id)]; ok {
		return r, nil
	}
	if _, err := lock.Find(id); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w here: %s", ErrNoRung, id) // the ladder has it, but not this shop
}

// Commands lists the commands that an order which sells, or one that only reads, may send on a rung, as traces name
// them, or returns ErrNoRung.
func (s *Shop) Commands(id string, reads bool) ([]string, error) {
	r, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return r.Commands(reads), nil
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
// Orders that hold a lock are completed.
func (s *Shop) Close() { s.close(ErrDraining) }

// Closed reports whether Close was called.
func (s *Shop) Closed() bool { return s.open.Err() != nil }

// untilClosed returns a context that ends with ctx, and with the cause ErrDraining when the shop closes.
func (s *Shop) untilClosed(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.open, func() { cancel(context.Cause(s.open)) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// accepts returns why the shop cannot serve an order, or nil.
func (s *Shop) accepts(r *rung, o Order) error {
	switch {
	case s.Closed():
		return ErrDraining
	case r.missing != "":
		return fmt.Errorf("%w: %s needs %s", ErrUnavailable, r.Number, r.missing)
	case len(o.Items) > 0 && !r.SellsSeveral():
		return fmt.Errorf("%w: %s takes no items", ErrOneProduct, r.Number)
	case len(o.Items) > 1 && !s.shelf.InOneSlot(o.Items):
		return severalSlots(r.Rung)
	}
	return nil
}

// Read serves an order that sells nothing: it reads the stock under the lock that the readers of a rung share. The
// order's work is done while the lock is held; nested work asks for the writers' lock. It returns what Decrease
// returns, and ErrNoRung if the rung has no lock for readers.
func (s *Shop) Read(ctx context.Context, id string, o Order) (Receipt, error) {
	r, err := s.find(id)
	if err != nil {
		return Receipt{Order: o.ID}, err
	}
	if r.missing == "" && r.readers == nil {
		return Receipt{Order: o.ID}, fmt.Errorf("%w with a lock for readers: %s has none", ErrNoRung, r.Number)
	}
	if r.missing == "" {
		r = r.readers
	}
	o.Quantity = 0
	return s.serve(ctx, r, o)
}

// A Status describes a rung, and whether this instance can serve it.
type Status struct {
	Number    string   `json:"number"`
	Name      string   `json:"name"`
	Does      string   `json:"does"`
	Defect    string   `json:"defect"`
	Needs     []string `json:"needs"`
	Asks      []string `json:"asks,omitempty"` // commands, any of which its Redis has to know
	Wait      string   `json:"wait"`           // how long an order waits for the lock by default
	Available bool     `json:"available"`
	Note      string   `json:"note,omitempty"`
}

// Rungs lists the rungs of the shop, lowest first.
func (s *Shop) Rungs() []Status {
	list := make([]Status, len(s.rungs))
	for i, r := range s.rungs {
		list[i] = Status{Number: r.Number, Name: r.Name, Does: r.Does, Defect: r.Defect,
			Needs: append([]string{}, r.Needs...), Asks: r.Asks, Wait: r.Wait.String(), Available: r.missing == "",
			Note: s.notes[r.Number]}
		if r.missing != "" {
			list[i].Note = "needs " + r.missing
		}
	}
	return list
}
