package contender

import (
	"context"
	"slices"
	"sync"
	"time"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// onRedisAlone reports whether one Redis is all that a rung needs. Redlock gets one node.
func onRedisAlone(r lock.Rung) bool {
	return !slices.ContainsFunc(r.Needs, func(need string) bool {
		return need != lock.NeedRedis && need != lock.NeedRedlock
	})
}

// rungContender is a rung as stockapi runs it: its own attempt, its own way of waiting, and its own shelf.
func rungContender(r lock.Rung) Contender {
	return Contender{Name: r.Number, Kind: Ours, About: r.Name + ": " + r.Does,
		open: func(s Settings) (*Client, error) { return openRung(r, s) }}
}

// longest limits the wait for a lock. The measurement ends the context of a wait long before.
const longest = time.Hour

func openRung(r lock.Rung, s Settings) (*Client, error) {
	rdb, err := openGoRedis(s.URL)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	background := new(sync.WaitGroup)
	b := lock.Backends{Redis: rdb, Process: lock.Process{Life: life, Background: background}}
	b.Redlock = append(b.Redlock, rdb)
	try, wait := r.Build(b)
	options := lock.Options{TTL: ttl}
	acquire := func(ctx context.Context, key string) (Held, error) {
		attempt := func(ctx context.Context) (*lock.Lease, error) { return try(ctx, key, options) }
		lease, err := wait(ctx, key, longest, attempt)
		if err != nil {
			return Held{}, err
		}
		return Held{Context: lease.Context, Fence: lease.Fence, Seat: lease.Seat, Release: releaseOf(lease)}, nil
	}
	return &Client{Lock: acquire, Sell: sellFrom(stock.NewShelf(rdb), r.Shelf, s.Product()), Close: func() {
		end()
		background.Wait()
		_ = rdb.Close()
	}}, nil
}

// releaseOf returns what ends a lease. Only v5-as-printed has to be told that the sale was written.
func releaseOf(lease *lock.Lease) func(context.Context) error {
	return func(ctx context.Context) error {
		if lease.Sold != nil {
			lease.Sold()
		}
		return lease.Unlock(ctx)
	}
}

// sellFrom sells from the rung's kind of shelf, without any work between the read and the write.
func sellFrom(shelf *stock.Shelf, kind stock.Kind, product string) func(context.Context, Held) (int64, error) {
	sell := shelf.Seller(kind)
	idle := func(context.Context) error { return nil }
	return func(ctx context.Context, held Held) (int64, error) {
		left, err := sell(ctx, stock.Order{Product: product, Quantity: 1, Fence: held.Fence, Seat: held.Seat,
			MaxWait: longest, Work: idle})
		return left + 1, err
	}
}
