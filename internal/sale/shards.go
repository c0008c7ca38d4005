package sale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/internal/stock"
)

// The errors of orders that a sharded product cannot serve as they are.
var (
	// ErrSharded says that an order names a sharded product where each product has to have one stock: among several, or
	// as a reader.
	ErrSharded = errors.New("this product is sharded")
	// ErrScattered says that enough units are left, but in no shard as many as the order wants, on a rung that cannot take
	// the locks of several shards.
	ErrScattered = errors.New("no shard has as many units")
)

// allShards is the name of the shard on the receipt of an order that had the locks of all shards.
const allShards = "*"

// errNowSharded ends the wait of an order for the lock of a product that another order has found to have shards. The
// first orders of an instance would else pass through that lock one by one, each to find the same.
var errNowSharded = fmt.Errorf("%w: it has shards", stock.ErrNoProduct)

// A spread is the layout of a product, with the shard at which the next order of this instance begins.
type spread struct {
	*stock.Layout
	next atomic.Uint32
}

// start returns the shard at which an order begins. The orders of an instance take turns, so that as many wait for each
// shard: if they chose at random, some shard would have a queue while another had none. The turns begin at random, so
// that instances are not in step.
func (p *spread) start(o Order) int {
	if o.Shard != nil {
		return int(*o.Shard) % p.Shards
	}
	return int(p.next.Add(1) % uint32(p.Shards))
}

// layouts holds the layouts that an instance knows. None of them has to be up to date: an order that goes by an old one
// finds no stock there. See [Shop.find].
type layouts struct {
	mu sync.RWMutex
	of map[string]*spread
}

func (k *layouts) get(product string) *spread {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.of[product]
}

// set remembers the layout of a product, or that it has none, and returns what is remembered then.
func (k *layouts) set(product string, l *stock.Layout) *spread {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l == nil {
		delete(k.of, product)
		return nil
	}
	if p := k.of[product]; p != nil && p.Same(l) {
		return p
	}
	if k.of == nil {
		k.of = map[string]*spread{}
	}
	p := &spread{Layout: l}
	p.next.Store(rand.Uint32())
	k.of[product] = p
	return p
}

// maxLayouts bounds how many layouts an order tries, if its product is put again and again.
const maxLayouts = 4

// find serves an order whose product may have shards. To know that, it asks only if the product's stock is not where it
// was looked for: an order of a product without shards costs no command more. The order's wait bounds all of it.
func (s *Shop) find(ctx context.Context, r *rung, o Order, receipt *Receipt) (err error) {
	until := time.Now().Add(r.maxWait(o))
	var known *spread
	if len(o.Items) == 0 && o.Quantity > 0 { // a reader is told that there are shards, and that may be over
		known = s.layouts.get(o.Product)
	}
	for range maxLayouts {
		if known == nil {
			err = s.deal(ctx, r, o, receipt)
		} else {
			err = s.dealInShards(ctx, r, o, known, until, receipt)
		}
		switch {
		case !errors.Is(err, stock.ErrNoProduct):
			return err
		case len(o.Items) > 0:
			return s.shardedAmong(ctx, o.Items, err)
		}
		l, failed := s.shelf.Layout(ctx, o.Product)
		if failed != nil {
			return failed
		}
		if known == nil && l == nil && !errors.Is(err, errNowSharded) || known != nil && known.Same(l) {
			return err
		}
		known = s.layouts.set(o.Product, l)
		o = o.within(until)
		receipt.forget("")
	}
	return err
}

// within returns the order with no more time to wait than until then. If that is over, it tries once.
func (o Order) within(until time.Time) Order {
	rest := max(0, time.Until(until))
	o.Wait = &rest
	return o
}

// shardedAmong returns ErrSharded if one of several products has shards, or else err.
func (s *Shop) shardedAmong(ctx context.Context, items []stock.Item, err error) error {
	for _, item := range items {
		if l, failed := s.shelf.Layout(ctx, item.Product); failed != nil {
			return failed
		} else if l != nil {
			return fmt.Errorf("%w: order %s alone", ErrSharded, item.Product)
		}
	}
	return err
}

// dealInShards serves an order from one shard. If that has too few units, the order looks at all shards, without their
// locks: units never come back, so what is gone stays gone. Then it goes to those that had enough, one after the other,
// and holds one lock at a time. It is told "sold out" only if all shards were found to have too few.
func (s *Shop) dealInShards(
	ctx context.Context, r *rung, o Order, p *spread, until time.Time, receipt *Receipt,
) error {
	if o.Quantity == 0 {
		return fmt.Errorf("%w, and a reader's lock is of one shard: GET /stock/%s has the sum", ErrSharded, o.Product)
	}
	start := p.start(o)
	err := s.dealInShard(ctx, r, o, p, start, receipt)
	if !errors.Is(err, stock.ErrSoldOut) {
		return err
	}
	left, failed := s.shelf.LeftOfEach(ctx, p.Layout)
	if failed != nil {
		return failed
	}
	for i := 1; i < p.Shards; i++ {
		at := (start + i) % p.Shards
		if left[at] < o.Quantity {
			continue
		}
		err = s.dealInShard(ctx, r, o.within(until), p, at, receipt)
		if !errors.Is(err, stock.ErrSoldOut) {
			return err
		}
	}
	if o.Quantity > 1 && stock.Sum(left) >= o.Quantity {
		return s.collect(ctx, r, o.within(until), p, receipt)
	}
	return err
}

// dealInShard serves an order from that shard.
func (s *Shop) dealInShard(ctx context.Context, r *rung, o Order, p *spread, shard int, receipt *Receipt) error {
	o.Product, o.below, o.inShard = p.Name(shard), p.Below(shard), true
	receipt.forget(o.Product)
	o.narrated.In(o.Product, o.below)
	return s.deal(ctx, r, o, receipt)
}

// collect serves an order of more units than any shard has. On the rungs that take several locks it takes those of all
// shards, as they take those of several products: all or none, so that no two orders wait for each other. On the others
// the order is not sold.
func (s *Shop) collect(ctx context.Context, r *rung, o Order, p *spread, receipt *Receipt) (err error) {
	if !r.SellsSeveral() {
		left, err := s.shelf.LeftOfEach(ctx, p.Layout)
		switch sum := stock.Sum(left); {
		case err != nil:
			return err
		case sum < o.Quantity:
			return fmt.Errorf("%w: %d left in %d shards", stock.ErrSoldOut, sum, p.Shards)
		default:
			return fmt.Errorf("%w: %d are left in %d of them; v9 collects from several", ErrScattered, sum, p.Shards)
		}
	}
	receipt.forget(allShards)
	whole := o
	for i := range p.Shards {
		whole.Items = append(whole.Items, stock.Item{Product: p.Name(i)})
	}
	lease, err := s.acquire(ctx, r, whole, receipt)
	if err != nil {
		return err
	}
	defer func() { err = s.release(ctx, r, o, lease, receipt, err) }()
	units, left, err := s.shelf.Collect(lease.Context, p.Layout, o.Quantity, s.work(r, whole))
	if err != nil {
		return err
	}
	o.narrated.Collected(units)
	receipt.Units, receipt.Left = units, left
	return nil
}
