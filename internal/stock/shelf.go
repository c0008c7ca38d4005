// Package stock keeps what is for sale: one Redis key per product, holding how many are left. Selling is naive on
// purpose: read, decide, work, write. What happens between the read and the write is the business of the lock around
// it, and of nobody else.
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
)

// What a caller decides on. With every other error nothing was written, and a backend did not answer as it should.
var (
	// ErrNoProduct says that there is no stock of that product, not even none.
	ErrNoProduct = errors.New("no such product")
	// ErrSoldOut says that there is less left than was asked for.
	ErrSoldOut = errors.New("sold out")
	// ErrCorrupt says that the stock's key holds something that is not a number of units.
	ErrCorrupt = errors.New("stock is not a number")
	// ErrUnknown says that the write was sent and its reply never came: the sale may or may not have happened.
	ErrUnknown = errors.New("outcome unknown")
	// ErrStale says that the stock has seen a newer fencing token than this one: the lease behind it has ended.
	ErrStale = errors.New("fencing token is stale")
	// ErrContended says that others wrote first each time, for as long as the order wanted to try.
	ErrContended = errors.New("others wrote first each time")
)

// Key returns the key that holds the stock of a product.
func Key(product string) string { return "ProductStock_" + product }

// IsKey reports whether a key belongs to the stock, and not to a lock.
func IsKey(key string) bool { return strings.HasPrefix(strings.TrimPrefix(key, "{"), Key("")) }

// A Shelf holds the stock of all products in one Redis.
type Shelf struct {
	rdb redis.UniversalClient
}

// NewShelf returns the shelf in that Redis.
func NewShelf(rdb redis.UniversalClient) *Shelf { return &Shelf{rdb} }

// An Order is what is to be sold, and how.
type Order struct {
	Product  string
	Quantity int64
	Fence    int64                       // the lease's fencing token, 0 for none
	Patience time.Duration               // how long to try again when others write first
	Work     func(context.Context) error // the business work between reading and writing; an error calls the sale off
}

// Sell takes an order's units off the shelf and returns how many are left. Between reading and writing it does the
// business work. It returns the cause of ctx if ctx ended before the write, and nothing was sold; once the write was
// sent it is seen through, since a write that is cut short would only leave everybody guessing.
func (s *Shelf) Sell(ctx context.Context, o Order) (int64, error) {
	left, err := s.Left(ctx, o.Product)
	if err != nil {
		return 0, err
	}
	left, err = decide(ctx, o, left)
	if err != nil {
		return left, err
	}
	return left, seenThrough(ctx, func(ctx context.Context) error {
		return s.rdb.Set(ctx, Key(o.Product), left, redis.KeepTTL).Err()
	})
}

// Look returns how many units are left once the business work is done. It writes nothing.
func (s *Shelf) Look(ctx context.Context, o Order) (int64, error) {
	left, err := s.Left(ctx, o.Product)
	if err != nil {
		return 0, err
	}
	return left, worked(ctx, o)
}

// decide does what lies between reading and writing: it returns how many will be left after the work, or why nothing
// is to be written.
func decide(ctx context.Context, o Order, left int64) (int64, error) {
	if left < o.Quantity {
		return left, fmt.Errorf("%w: %d left", ErrSoldOut, left)
	}
	if err := worked(ctx, o); err != nil {
		return left, err
	}
	return left - o.Quantity, nil
}

// worked does the business work, and returns why nothing is to be written after it, if so.
func worked(ctx context.Context, o Order) error {
	err := o.Work(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// seenThrough runs a write that outlives its caller, and tells one that failed from one in doubt. What bounds it are the
// client's own timeouts, which count from when it is sent: a deadline set here would run out while the process is
// paused, and look like a protection against pauses, which it is not.
func seenThrough(ctx context.Context, write func(context.Context) error) error {
	err := write(context.WithoutCancel(ctx))
	if err == nil || !inDoubt(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// inDoubt reports whether a command that failed may have been carried out all the same. It was not when Redis itself
// refused it, or when there was no connection to send it on.
func inDoubt(err error) bool { return !backend.Refused(err) && !backend.Unsent(err) }

// Left returns how many units of a product are left.
func (s *Shelf) Left(ctx context.Context, product string) (int64, error) {
	value, err := s.rdb.Get(ctx, Key(product)).Result()
	return parse(product, value, err)
}

// exact is where whole numbers end to be exact for everybody who counts with doubles, Lua among them.
const exact = 1 << 53

// parse turns what Redis says of a stock's key into a number of units: a whole number as Redis itself writes it, less
// than 2^53 either way. It is the same for every shelf.
func parse(product, value string, err error) (int64, error) {
	err = readable(product, err)
	if errors.Is(err, ErrNoProduct) || errors.Is(err, ErrCorrupt) {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("read the stock: %w", err)
	}
	left, err := strconv.ParseInt(value, 10, 64)
	if err != nil || left <= -exact || left >= exact || strconv.FormatInt(left, 10) != value {
		return 0, fmt.Errorf("%w: %s", ErrCorrupt, Key(product))
	}
	return left, nil
}

// readable turns what Redis says against a stock's keys into an error that a caller decides on, and returns others as
// they are.
func readable(product string, err error) error {
	switch {
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("%w: %s", ErrNoProduct, product)
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return fmt.Errorf("%w: %s is not a string", ErrCorrupt, Key(product))
	case redis.HasErrorPrefix(err, "CORRUPT"): // of our scripts
		_, key, _ := strings.Cut(err.Error(), "CORRUPT ")
		if key == fenceKey(product) {
			key += " holds no fencing token; to put the stock anew resets it"
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

// remembered is for how long the newest fencing token of a product outlives it. It is there for holders who read the
// stock before it was removed and write after it was put back: a day is longer than any of them is paused, and the
// products that ever were do not fill Redis.
const remembered = 24 * time.Hour

// Put sets how many units of a product there are, for good, whatever the key held before. Sales under a fencing token
// that are under way are refused when they write.
func (s *Shelf) Put(ctx context.Context, product string, quantity int64) error {
	return s.PutFor(ctx, product, quantity, 0)
}

// PutFor is Put with a TTL, after which the product is gone; 0 is for good. No sale prolongs it.
func (s *Shelf) PutFor(ctx context.Context, product string, quantity int64, ttl time.Duration) error {
	if err := s.put(ctx, product, quantity, ttl); err != nil {
		return fmt.Errorf("write the stock: %w", err)
	}
	return nil
}

// Remove takes a product off the shelf altogether, and refuses those sales too.
func (s *Shelf) Remove(ctx context.Context, product string) error {
	if err := s.put(ctx, product, "", 0); err != nil {
		return fmt.Errorf("remove the stock: %w", err)
	}
	return nil
}

func (s *Shelf) put(ctx context.Context, product string, quantity any, ttl time.Duration) error {
	keys := []string{Key(product), fenceKey(product)}
	return put.Run(ctx, s.rdb, keys, quantity, remembered.Milliseconds(), ttl.Milliseconds()).Err()
}

// Open puts a product on the shelf if it is not there yet, and reports whether it did. It stays for the TTL, 0 for good.
func (s *Shelf) Open(ctx context.Context, product string, quantity int64, ttl time.Duration) (bool, error) {
	created, err := s.rdb.SetNX(ctx, Key(product), quantity, ttl).Result()
	if err != nil {
		return false, fmt.Errorf("open the stock: %w", err)
	}
	return created, nil
}
