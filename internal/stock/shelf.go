// Package stock keeps the stock: one Redis key per product, which holds how many units are left. Selling is naive on
// purpose: read, decide, work, write. Only the lock around it protects the time between the read and the write.
package stock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/batch"
)

// The errors that callers distinguish. Any other error means that a backend failed and nothing was written.
var (
	// ErrNoProduct means that the product has no stock key. A product that is sold out has one, with 0 in it.
	ErrNoProduct = errors.New("no such product")
	// ErrSoldOut means that fewer units are left than the order asked for.
	ErrSoldOut = errors.New("sold out")
	// ErrCorrupt means that the stock's key holds something that is not a number of units.
	ErrCorrupt = errors.New("stock is not a number")
	// ErrUnknown means that the write was sent and no reply came: the sale may or may not have happened.
	ErrUnknown = errors.New("outcome unknown")
	// ErrStale means that the stock has seen a newer fencing token than the order's: the order's lease has ended.
	ErrStale = errors.New("fencing token is stale")
	// ErrContended means that others wrote first, each time that the order tried.
	ErrContended = errors.New("others wrote first each time")
)

// Key returns the key that holds the stock of a product.
func Key(product string) string { return "ProductStock_" + product }

// IsKey reports whether a key belongs to the stock rather than to a lock.
func IsKey(key string) bool { return strings.HasPrefix(strings.TrimPrefix(key, "{"), Key("")) }

// A Shelf holds the stock of all products in one Redis.
type Shelf struct {
	rdb redis.UniversalClient
}

// NewShelf returns the shelf in that Redis.
func NewShelf(rdb redis.UniversalClient) *Shelf { return &Shelf{rdb} }

// An Order describes a sale.
type Order struct {
	ID       string // names the order to the others of its batch
	Product  string
	Quantity int64
	Fence    int64                       // the lease's fencing token, 0 for none
	Seat     *batch.Seat                 // in the batch of orders that hold the lease; nil: it holds it alone
	MaxWait  time.Duration               // how long to retry while others write first
	Waiting  context.Context             // ends retries, with its cause; nil: only MaxWait does
	Work     func(context.Context) error // the business work between the read and the write; an error cancels the sale
}

// A Sell takes an order's units off a shelf and returns how many are left. It does the business work between the read
// and the write. If ctx ends before the write, nothing is sold and it returns the cause. The write itself is not
// cancelled: its outcome would be unknown.
type Sell func(ctx context.Context, o Order) (left int64, err error)

// sell returns the naive Sell: read, decide, work, write.
func sell(
	read func(ctx context.Context, o Order) (int64, error), write func(ctx context.Context, o Order, left int64) error,
) Sell {
	return func(ctx context.Context, o Order) (int64, error) {
		left, err := read(ctx, o)
		if err != nil {
			return 0, err
		}
		left, err = decide(ctx, o, left)
		if err != nil {
			return left, err
		}
		return left, write(ctx, o, left)
	}
}

func (s *Shelf) read(ctx context.Context, o Order) (int64, error) { return s.Left(ctx, o.Product) }

// replace makes a SET write only an existing key. A product that was removed while an order was at work stays removed.
var replace = redis.SetArgs{Mode: "XX", KeepTTL: true}

func (s *Shelf) write(ctx context.Context, o Order, left int64) error {
	err := uncancelable(ctx, func(ctx context.Context) error {
		return s.rdb.SetArgs(ctx, Key(o.Product), left, replace).Err()
	})
	return stockError(o.Product, err)
}

// Look returns how many units are left once the business work is done. It writes nothing.
func (s *Shelf) Look(ctx context.Context, o Order) (int64, error) {
	left, err := s.Left(ctx, o.Product)
	if err != nil {
		return 0, err
	}
	return left, doWork(ctx, o)
}

// decide does the work between the read and the write. It returns how many units to write as left, or an error if
// nothing may be written.
func decide(ctx context.Context, o Order, left int64) (int64, error) {
	if left < o.Quantity {
		return left, soldOut(left)
	}
	if err := doWork(ctx, o); err != nil {
		return left, err
	}
	return left - o.Quantity, nil
}

// soldOut returns ErrSoldOut with the units left, which may be some: an order gets all its units or none.
func soldOut(left int64) error {
	if left > 0 {
		return tooFew(left)
	}
	return fmt.Errorf("%w: %d left", ErrSoldOut, left)
}

// A tooFew is ErrSoldOut with that many units left.
type tooFew int64

func (n tooFew) Error() string { return fmt.Sprintf("only %d left", int64(n)) }

func (tooFew) Unwrap() error { return ErrSoldOut }

// doWork does the business work. It returns an error if nothing may be written after it.
func doWork(ctx context.Context, o Order) error {
	err := o.Work(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// uncancelable runs a write that ctx does not cancel, and returns ErrUnknown if its outcome is indeterminate. Only
// the timeouts of the client bound it, and they begin when the command is sent. A deadline set here would expire while
// the process is paused, and look like a protection against pauses, which it is not.
func uncancelable(ctx context.Context, write func(context.Context) error) error {
	err := write(context.WithoutCancel(ctx))
	if err == nil || !indeterminate(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// indeterminate reports whether a failed command may have been executed all the same. It was not executed if Redis
// refused it, or if there was no connection to send it on.
func indeterminate(err error) bool { return !backend.Refused(err) && !backend.Unsent(err) }

// Left returns how many units of a product are left.
func (s *Shelf) Left(ctx context.Context, product string) (int64, error) {
	value, err := s.rdb.Get(ctx, Key(product)).Result()
	return parse(ctx, product, value, err)
}

// exactLimit is the first whole number beyond which a double, which Lua counts with, is no longer exact.
const exactLimit = 1 << 53

// parse turns Redis' reply for a stock key into a number of units: a whole number as Redis itself writes it, with an
// absolute value below 2^53. All kinds of shelf accept the same values. If the read failed because ctx has ended, the
// error is the cause, such as a lease that was lost.
func parse(ctx context.Context, product, value string, err error) (int64, error) {
	err = stockError(product, err)
	if errors.Is(err, ErrNoProduct) || errors.Is(err, ErrCorrupt) {
		return 0, err
	}
	if err != nil && ctx.Err() != nil && !backend.Refused(err) {
		err = context.Cause(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("read the stock: %w", err)
	}
	left, err := strconv.ParseInt(value, 10, 64)
	if err != nil || left <= -exactLimit || left >= exactLimit || strconv.FormatInt(left, 10) != value {
		return 0, fmt.Errorf("%w: %s", ErrCorrupt, Key(product))
	}
	return left, nil
}

// stockError turns an error of Redis about a stock key into ErrNoProduct or ErrCorrupt. It returns other errors as they
// are.
func stockError(product string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("%w: %s", ErrNoProduct, product)
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return fmt.Errorf("%w: %s is not a string", ErrCorrupt, Key(product))
	case redis.HasErrorPrefix(err, "CORRUPT"): // of our scripts
		_, key, _ := strings.Cut(err.Error(), "CORRUPT ")
		if key == fenceKey(product) {
			key += " holds no fencing token; putting the stock again resets it"
		}
		return fmt.Errorf("%w: %s", ErrCorrupt, key)
	}
	return err
}

var (
	//go:embed put.lua
	putSource string

	put = redis.NewScript(putSource)
)

// fenceTTL bounds how long the newest fencing token is kept after its product has gone. The token refuses holders
// that read the stock before it was removed and write after it was put back. A day is longer than any pause, and the
// tokens of removed products do not fill Redis.
const fenceTTL = 24 * time.Hour

// Put sets the number of units of a product, without a TTL. A sale in flight under a fencing token is refused when it
// writes.
func (s *Shelf) Put(ctx context.Context, product string, quantity int64) error {
	return s.PutFor(ctx, product, quantity, 0)
}

// PutFor is Put with a TTL, after which the product is gone; 0 means none. No sale extends it.
func (s *Shelf) PutFor(ctx context.Context, product string, quantity int64, ttl time.Duration) error {
	if err := s.put(ctx, product, quantity, ttl); err != nil {
		return fmt.Errorf("write the stock: %w", err)
	}
	return nil
}

// Remove deletes a product from the shelf. A sale in flight under a fencing token is refused, as by Put.
func (s *Shelf) Remove(ctx context.Context, product string) error {
	if err := s.put(ctx, product, "", 0); err != nil {
		return fmt.Errorf("remove the stock: %w", err)
	}
	return nil
}

// put replaces the number of units, or removes the product if it is "".
func (s *Shelf) put(ctx context.Context, product string, quantity any, ttl time.Duration) error {
	return put.Run(ctx, s.rdb, []string{Key(product), fenceKey(product)},
		quantity, fenceTTL.Milliseconds(), ttl.Milliseconds()).Err()
}

var (
	//go:embed open.lua
	openSource string

	open = redis.NewScript(openSource)
)

// Open puts a product on the shelf unless it exists, and reports whether it did. A TTL of 0 means none.
func (s *Shelf) Open(ctx context.Context, product string, quantity int64, ttl time.Duration) (bool, error) {
	created, err := open.Run(ctx, s.rdb, []string{Key(product)}, quantity, ttl.Milliseconds()).Bool()
	if err != nil {
		return false, fmt.Errorf("open the stock: %w", err)
	}
	return created, nil
}
