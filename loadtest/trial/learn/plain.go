package learn

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// firstSales buys one unit at each instance, and returns the written keys besides the stock. It fails if the shop
// cannot be tried.
func firstSales(b *record.Bench) (written map[wire.Key]time.Time, err error) {
	b.Begin("", "")
	b.Cell.Initial = b.Pair.Shop.UnitsFor(0) // they were put when the instances were up: --set may remove recorded sales
	if err := b.BeginCount(); err != nil {
		return nil, err
	}
	for at := range b.Pair.Rig.Ends {
		o, err := firstAt(b, at)
		if err != nil {
			return nil, err
		}
		if moved, err := findStock(b, o); err != nil {
			return nil, err
		} else if moved {
			if o, err = firstAt(b, at); err != nil {
				return nil, err
			}
		}
		if b.Pair.Rig.Quiet(b.Pair.Context); at == shop.AtA {
			(&firstOrder{bench: b, order: o}).tell()
		}
		if _, written, err = writesOf(b, o); err != nil {
			return nil, err
		}
		if at == shop.AtA {
			if err := checkCounted(b, countedWithin); err != nil {
				return nil, err
			}
		}
		b.Passport.Takes = o.Over.Sub(o.Sent) // an upper bound: a first order may have to connect
	}
	b.Passport.Scripts = b.Pair.Ledger.Scripts()
	if b.Pair.Shop.Shelf().Field == "" {
		delete(written, wire.Key{DB: b.Pair.Shop.DB, Name: b.Pair.Shop.Shelf().Key})
	}
	return written, nil
}

// findStock moves the stock to another Redis database if the first order looked for it only there.
func findStock(b *record.Bench, o *shop.Order) (moved bool, err error) {
	if b.Pair.Rig.Quiet(b.Pair.Context); o.At != shop.AtA {
		return false, nil
	}
	if _, _, err := b.Pair.Ledger.Writes(b.Pair.Context); err != nil {
		return false, err
	}
	found := b.Pair.Ledger.Databases(b.Pair.Rig.Ends[o.At].Wires[0].Owns)
	if len(found) != 1 || found[0] == b.Pair.Shop.DB {
		return false, nil
	}
	err = b.Pair.Alone(func(to *redis.Client) error { return b.Pair.AtShelf(to, "DEL", b.Pair.Shop.Shelf().Key).Err() })
	if err != nil {
		return false, err
	}
	b.Pair.Shop.DB = found[0]
	b.Pair.Shop.Say(fmt.Sprintf("moving the stock to database %d, where the shop looks for it…", b.Pair.Shop.DB))
	b.Pair.Ledger.Follow(b.Pair.Shop.DB)
	b.Pair.LookAt(nil)
	b.Begin("", "")
	return true, nil
}

// firstAt sends the first order to an instance, again while it is answered 503: some shops warm up. A program, whose
// answer has no status, is run again until it sells.
func firstAt(b *record.Bench, at int) (*shop.Order, error) {
	for begun := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		o, err := b.Plain("first-"+strconv.Itoa(at), at)
		if err != nil {
			return nil, err
		}
		<-o.Done()
		over := time.Since(begun) > b.Pair.Shop.Within || wire.IsClosed(b.Pair.Context.Done())
		again, why := o.Op.Status == http.StatusServiceUnavailable, "503"
		if b.Pair.Shop.Order.IsProgram() {
			again, why = o.Op.Outcome != history.Sold, o.Op.Detail
		}
		if over || !again {
			return o, nil
		}
		b.Pair.Shop.Say(fmt.Sprintf("%s: retrying for up to %s…", why, b.Pair.Shop.Within))
	}
}

// writesOf waits until a plain order is over, and returns the writes of the stock in the cell, and all written keys. It
// fails if the order shows that the shop cannot be tried.
func writesOf(b *record.Bench, o *shop.Order) (writes []record.Written, keys map[wire.Key]time.Time, err error) {
	<-o.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
	if writes, keys, err = b.Writes(); err != nil {
		return nil, nil, err
	}
	return writes, keys, problem(b, o, writes)
}

// A plainSale is what a plain order did.
type plainSale struct {
	sent     time.Time
	commands []record.Observation
	writes   []record.Written
	looker   *wire.Looker
	own      []wire.Key // the keys that it created and removed, and that no other order has named
}

// plainSales buys one unit at a, one at b, and another at a.
func plainSales(b *record.Bench) (sales []*plainSale, err error) {
	b.Begin("", "")
	p := b.Passport
	_, known, err := b.Pair.Ledger.Writes(b.Pair.Context)
	if err != nil {
		return nil, err
	}
	for i, at := range []int{shop.AtA, shop.AtB, shop.AtA} {
		b.BecomesFree() // else the order would first wait for a lock that is kept for a while
		o, err := b.Plain("plain-"+strconv.Itoa(i), at)
		if err != nil {
			return nil, err
		}
		writes, keys, err := writesOf(b, o)
		if err != nil {
			return nil, err
		}
		b.AwaitLate()
		p.Takes = min(p.Takes, o.Over.Sub(o.Sent))
		s := &plainSale{sent: o.Sent, commands: record.AsExecuted(b.ByOrder()[o]), writes: writes,
			looker: b.Pair.Looker.Load()}
		if s.own, err = madeAndRemoved(b, known, keys, writes); err != nil {
			return nil, err
		}
		sales = append(sales, s)
	}
	knowScripts(p, sales)
	keepScripts(b)
	return sales, b.Pair.Looker.Load().Err()
}

// knowScripts records which scripts several of the sales have sent. The text of any other contains a value
// of its order.
func knowScripts(p *sale.Passport, sales []*plainSale) {
	first := map[string]*plainSale{}
	if p.Ours == nil {
		p.Ours = map[string]bool{}
	}
	for _, s := range sales {
		for _, c := range s.commands {
			if len(c.Args) < 2 || c.Name != "eval" {
				continue
			}
			of := sale.Digest(c.Args)
			if first[of] == nil {
				first[of] = s
			}
			p.Ours[of] = p.Ours[of] || first[of] != s
		}
	}
}

// keepScripts records the scripts that orders have sent in full, and returns how many there are.
func keepScripts(b *record.Bench) int {
	if _, _, err := b.Pair.Ledger.Writes(b.Pair.Context); err == nil { // the ledger is up to date then
		b.Passport.Scripts = b.Pair.Ledger.Scripts()
	}
	return len(b.Passport.Scripts)
}

// madeAndRemoved returns which of these keys an order created before its last write of the stock, and removed, and were
// not known before. It adds all the keys to known.
func madeAndRemoved(
	b *record.Bench, known, keys map[wire.Key]time.Time, writes []record.Written,
) (own []wire.Key, err error) {
	now, err := wire.Snapshot(b.Pair.Context, b.Pair.Rig.Stores[0].Redis)
	if err != nil {
		return nil, err
	}
	for key, at := range keys {
		if _, was := known[key]; was {
			continue
		}
		known[key] = at
		_, is := now[key]
		before := b.Pair.Shop.IsElsewhere() || len(writes) > 0 && at.Before(writes[len(writes)-1].At)
		if !is && before {
			own = append(own, key)
		}
	}
	return own, nil
}
