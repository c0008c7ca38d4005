package stock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Layout says how the units of a sharded product are divided. To the shelf and to the locks each shard is a product
// of its own, with its own keys, so every rung sells from it as from any other. On a cluster the shards of a product
// are in different slots.
//
// A layout never changes. Each Put makes a new one, whose shards have new names. So an order that goes by an old layout
// finds its shard gone, and can neither sell a unit of the new layout nor write to it.
type Layout struct {
	Product  string
	Shards   int
	Quantity int64 // of the whole product, when it was put
	id       string
}

// MaxShards bounds the shards of a product. An order that is refused has asked all of them.
const MaxShards = 32

// Name returns the product that shard i is, counted from 0. Names with dots are reserved for shards. Two names of one
// layout differ in the last two digits alone, which puts them into different slots of a cluster.
func (l *Layout) Name(i int) string { return fmt.Sprintf("%s.%s.%02d", l.Product, l.id, i) }

// Below returns how many units are numbered below those of shard i: its own are numbered from Below+1 on. The numbers
// of a product's units are unique, as without shards.
func (l *Layout) Below(i int) int64 {
	n, at := int64(l.Shards), int64(i)
	return at*(l.Quantity/n) + min(at, l.Quantity%n)
}

// size returns how many units shard i begins with. No two shards differ by more than one unit.
func (l *Layout) size(i int) int64 { return l.Below(i+1) - l.Below(i) }

// Same reports whether two layouts are the same one. Nil is that of a product without shards.
func (l *Layout) Same(other *Layout) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.id == other.id
}

// text is the layout as its record has it.
func (l *Layout) text() string { return fmt.Sprintf("%d %d %s", l.Shards, l.Quantity, l.id) }

func parseLayout(product, text string) (*Layout, error) {
	l := &Layout{Product: product}
	n, err := fmt.Sscanf(text, "%d %d %s", &l.Shards, &l.Quantity, &l.id)
	if err != nil || n != 3 || l.Shards < 2 || l.Shards > MaxShards || l.Quantity < 0 || text != l.text() {
		return nil, fmt.Errorf("%w: %s holds no layout", ErrCorrupt, recordKey(product))
	}
	return l, nil
}

// recordKey returns the key of the record that says that a product is sharded, and how. A product has either that key
// or the one that holds its stock.
func recordKey(product string) string { return "{" + Key(product) + "}:shards" }

// layoutsKey returns the key of the list of all layouts that may have keys, the latest last. What a Put that was cut
// short has left, the next one finds there.
func layoutsKey(product string) string { return "{" + Key(product) + "}:layouts" }

// Layout returns the layout of a product, or nil if it has no shards, or there is no such product.
func (s *Shelf) Layout(ctx context.Context, product string) (*Layout, error) {
	text, err := s.rdb.Get(ctx, recordKey(product)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return nil, fmt.Errorf("%w: %s is not a string", ErrCorrupt, recordKey(product))
	case err != nil:
		return nil, fmt.Errorf("read the record of the shards: %w", err)
	}
	return parseLayout(product, text)
}

// PutSharded is [Shelf.PutFor] for a product of several shards.
//
// The new shards are there before the old ones go, and the record says so last. Between the last two steps the product
// is not there: no moment has units of both. If the process ends in the middle, the product is as it was, or gone.
func (s *Shelf) PutSharded(ctx context.Context, product string, quantity int64, shards int, ttl time.Duration) error {
	l := &Layout{Product: product, Shards: shards, Quantity: quantity, id: strings.ToLower(rand.Text()[:10])}
	if err := s.fill(ctx, l, ttl); err != nil {
		return fmt.Errorf("write the shards: %w", err)
	}
	err := s.put(ctx, product, "", l.text(), ttl)
	if redis.HasErrorPrefix(err, "OVERTAKEN") { // a later Put or Remove has removed the old shards, and did not see these
		return s.retire(ctx, product, []string{l.text()})
	}
	if err != nil {
		return fmt.Errorf("write the record of the shards: %w", err)
	}
	return nil
}

// fill makes the shards of a layout, which nobody knows yet.
func (s *Shelf) fill(ctx context.Context, l *Layout, ttl time.Duration) error {
	if err := s.rdb.RPush(ctx, layoutsKey(l.Product), l.text()).Err(); err != nil {
		return err
	}
	return s.together(ctx, func(p redis.Pipeliner) {
		for i := range l.Shards {
			p.Set(ctx, Key(l.Name(i)), l.size(i), ttl)
		}
	})
}

// retire removes the shards of layouts. Nobody sells from them any more: writes of the stock do not make a key.
func (s *Shelf) retire(ctx context.Context, product string, layouts []string) error {
	for _, text := range layouts {
		if l, err := parseLayout(product, text); err == nil {
			if err := s.together(ctx, func(p redis.Pipeliner) {
				for i := range l.Shards {
					p.Del(ctx, Key(l.Name(i)), fenceKey(l.Name(i)))
				}
			}); err != nil {
				return fmt.Errorf("remove old shards: %w", err)
			}
		}
		if err := s.rdb.LRem(ctx, layoutsKey(product), 0, text).Err(); err != nil {
			return fmt.Errorf("remove old shards: %w", err)
		}
	}
	return nil
}

// together sends commands about several shards: in one transaction, or on a cluster, where they are in several slots,
// as a pipeline to each node.
func (s *Shelf) together(ctx context.Context, add func(redis.Pipeliner)) error {
	send := s.rdb.TxPipelined
	if s.onCluster() {
		send = s.rdb.Pipelined
	}
	_, err := send(ctx, func(p redis.Pipeliner) error {
		add(p)
		return nil
	})
	return err
}

func (s *Shelf) onCluster() bool {
	_, cluster := s.rdb.(*redis.ClusterClient)
	return cluster
}

// LeftOfEach returns how many units each shard has. It takes no lock and is no snapshot. But units never come back to
// a layout, so a shard that has too few will never have enough.
func (s *Shelf) LeftOfEach(ctx context.Context, l *Layout) ([]int64, error) {
	replies := make([]*redis.StringCmd, l.Shards)
	if _, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range replies {
			replies[i] = p.Get(ctx, Key(l.Name(i)))
		}
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, fmt.Errorf("read the stock: %w", err)
	}
	left := make([]int64, l.Shards)
	for i, reply := range replies {
		var err error
		if left[i], err = parse(ctx, l.Name(i), reply.Val(), reply.Err()); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// Count returns how many units of a product are left, in all and, if it has shards, in each. While orders are served,
// the sum is between that at the beginning of the reading and that at its end.
func (s *Shelf) Count(ctx context.Context, product string) (sum int64, l *Layout, left []int64, err error) {
	sum, err = s.Left(ctx, product)
	if !errors.Is(err, ErrNoProduct) {
		return sum, nil, nil, err
	}
	l, failed := s.Layout(ctx, product)
	if failed != nil || l == nil {
		return 0, nil, nil, errors.Join(failed, err)
	}
	left, err = s.LeftOfEach(ctx, l)
	return Sum(left), l, left, err
}

// Sum returns the sum of what several shards have.
func Sum(left []int64) (sum int64) {
	for _, n := range left {
		sum += n
	}
	return sum
}

// Collect sells an order's units from as many shards as it takes, all or none, to an order that has the locks of all
// shards. It returns the numbers of the units, and how many are left of the whole product. It writes all shards in one
// transaction. A cluster has none for them, so there it writes one after the other, and writes back what it has written
// if one refuses. If the outcome of a write is not known, neither is that of the order.
func (s *Shelf) Collect(
	ctx context.Context, l *Layout, quantity int64, work func(context.Context) error,
) (units []int64, left int64, err error) {
	have, err := s.LeftOfEach(ctx, l)
	if err != nil {
		return nil, 0, err
	}
	left = Sum(have)
	if left < quantity {
		return nil, left, soldOut(left)
	}
	if err := doWork(ctx, Order{Work: work}); err != nil {
		return nil, left, err
	}
	var shares []share
	for i, had := range have {
		taken := min(had, quantity-int64(len(units)))
		if taken == 0 {
			continue
		}
		shares = append(shares, share{Key(l.Name(i)), had, had - taken})
		for n := range taken {
			units = append(units, l.Below(i)+had-taken+1+n)
		}
	}
	if s.onCluster() {
		err = s.writeEach(ctx, shares)
	} else {
		err = s.writeAll(ctx, shares)
	}
	return units, left - quantity, stockError(l.Product, err)
}

// writeEach writes one share after the other, and undoes that if one is refused.
func (s *Shelf) writeEach(ctx context.Context, shares []share) error {
	for i, one := range shares {
		err := s.write(ctx, one.key, one.left)
		if err == nil {
			continue
		}
		for _, done := range shares[:i] {
			undone := context.Cause(ctx) // without the locks it would overwrite what others have sold
			if undone == nil {
				undone = s.write(ctx, done.key, done.had)
			}
			if undone != nil && !errors.Is(undone, redis.Nil) {
				return fmt.Errorf("%w: a shard was written, another was not (%w), and the first is not written back: %w",
					ErrUnknown, err, undone)
			}
		}
		return err
	}
	return nil
}
