package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// tells makes both instances change their answers with tell.
func tells(tell func(o *order)) func(a, b *instance) {
	return func(a, b *instance) { a.tell, b.tell = tell, tell }
}

// sells makes both instances serve orders with sell.
func sells(sell func(o *order)) func(a, b *instance) {
	return func(a, b *instance) { a.sell, b.sell = sell, sell }
}

const buyers = 40 // as in smallLoad

// Slow ones come first, so that the others run beside them.
var misbehaviours = []misbehaviour{
	{
		name: "an order that hangs", slow: true, flags: []string{"--wait", "0s"},
		bend: func(a, _ *instance) {
			a.sell = func(o *order) {
				o.wait = time.Second
				a.underLock(o)
			}
			a.tell = func(o *order) {
				if o.number == 3 {
					<-o.request.Context().Done()
					o.status = 0
				}
			}
		},
		want: "unknown unknown unknown ok – – –", code: couldNotRun, says: `1 (units?|orders?)`,
	},
	{
		name: "423 to all", slow: true, flags: []string{"--ttl", "1s"},
		bend: sells(func(o *order) { o.refuse(http.StatusLocked, "lock-busy", "busy") }),
		want: "unknown – – BROKEN – – –", code: surprised, says: `did not get through in`,
	},
	{
		name: "500 after each sale",
		bend: tells(func(o *order) {
			if o.status == http.StatusOK {
				o.status, o.doc = http.StatusInternalServerError, map[string]any{}
			}
		}),
		want: "unknown unknown unknown ok – – –", code: couldNotRun, says: `10 (units|orders)`,
	},
	{
		name: "one unit for all",
		bend: sells(func(o *order) {
			o.acquire()
			o.release()
			o.sold(9)
			o.hide()
		}),
		want: "BROKEN – – ok – – –", code: surprised,
		says: `a sold unit 10 to order \d+ at \S+ s; a sold unit 10 again to order \d+`,
	},
	{
		name: "a stock that is always one off",
		bend: func(a, _ *instance) {
			a.count = func(left int64) int64 {
				if left == 10 {
					return left
				}
				return left + 1
			}
		},
		want: "BROKEN ok ok ok – – –", code: surprised, says: `10 sold, but the stock went from 10 to 1`,
	},
	{
		name: "two at once on one clock",
		bend: sells(sellUnlocked),
		want: "ok BROKEN – ok – – –", code: surprised, says: `both held the lock for \d+\.\d+ ms`,
	},
	{
		name: "a release of another's lock", bend: freesAnothers,
		want: "ok ok BROKEN ok – – –", code: surprised,
		says: `removed lock:\S+ at \S+ s although order \d+ on a had taken it`,
	},
	{
		name: "tokens that fall", rung: "v15",
		bend: func(a, _ *instance) {
			a.tell = func(o *order) {
				if l := o.lease; l != nil {
					l["fence"] = 1000 - o.token()
				}
			}
		},
		want: "ok ok ok ok BROKEN – –", code: surprised, says: `got token \d+ at .* only token \d+`,
	},
	{
		// The fresh request after the load buys what is left, and 1,000 units at most: no unit is missing.
		name: "nothing, with stock left", flags: []string{"--stock", "5000"},
		want: holds, code: asExpected, says: `v4 lua-release +ok +40 +0 +0 +0 +4960 `,
	},
	{
		name: "a stock that cannot be read",
		bend: func(a, _ *instance) { a.without = append(a.without, "GET /stock/{product}") },
		want: "unknown ok ok ok – – –", code: couldNotRun, says: `the stock could not be read`,
	},
}

var innocents = []misbehaviour{
	{name: "correct", want: holds},
	{name: "correct, on two instances", two: true, want: holds},
	{name: "combined", rung: "v19", bend: sellTogether, want: holdsFenced},
	{name: "combined, on two instances", rung: "v19", two: true, bend: sellTogether, want: holdsFenced},
	{name: "atomic", rung: "v17", bend: tells(func(o *order) { o.hide() }), want: "ok – – ok – – –"},
	{
		name: "one late reading of the stock", want: holds,
		bend: func(a, _ *instance) {
			var asked atomic.Int64
			a.count = func(left int64) int64 {
				if asked.Add(1) == 2 { // the first reading after the load is for the size of the probe
					return left + 3
				}
				return left
			}
		},
	},
	{
		// As if a proxy answered the next order with it, too.
		name: "an answer delivered to two orders", want: "unknown unknown unknown ok – – –", code: couldNotRun,
		bend: deliversTwice,
	},
	{
		name: "readings of the stock that lag by 300 ms", slow: true, want: holds, bend: lag,
	},
	{
		name: "a clock that is stepped forward", code: couldNotRun,
		want: "invalid: unknown unknown unknown unknown – – –",
		bend: func(a, _ *instance) {
			a.now = func() time.Time {
				if a.arrived() > buyers/2 {
					return time.Now().Add(2 * time.Second)
				}
				return time.Now()
			}
		},
	},
	{
		name: "one clock ahead by seconds", two: true, want: "ok – – ok – – –", code: couldNotRun,
		bend: func(_, b *instance) {
			b.clock, b.now = "of b", func() time.Time { return time.Now().Add(3 * time.Second) }
		},
	},
	{
		name: "stalls of 200 ms under the lock", slow: true, want: holds,
		bend: sells(func(o *order) {
			if o.number%20 == 7 {
				o.work = 200 * time.Millisecond
			}
			o.underLock(o)
		}),
	},
	{
		name: "a lost answer, with GET /orders", want: "ok unknown unknown ok – – –",
		code: couldNotRun,
		bend: func(a, _ *instance) {
			a.without = nil
			a.tell = func(o *order) {
				if o.number == 3 {
					o.status = 0
				}
			}
		},
	},
}

// deliversTwice answers one sale with the answer to the one before it.
func deliversTwice(a, b *instance) {
	var mu sync.Mutex
	var sales int
	var answer map[string]any
	tells(func(o *order) {
		mu.Lock()
		defer mu.Unlock()
		if o.status != http.StatusOK || o.number > buyers {
			return
		}
		switch sales++; sales {
		case 5:
			answer = o.doc
		case 6:
			o.doc = answer
		}
	})(a, b)
}

// lag hides the last three sales from readings of the stock for 300 ms.
func lag(a, b *instance) {
	var last atomic.Int64
	tells(func(*order) { last.Store(time.Now().UnixNano()) })(a, b)
	a.count = func(left int64) int64 {
		if time.Since(time.Unix(0, last.Load())) < 300*time.Millisecond {
			return left + 3
		}
		return left
	}
}

// sellUnlocked sells without mutual exclusion, and without harm to the stock. It returns no trace, since that would
// also show the violation.
func sellUnlocked(o *order) {
	o.acquire()
	left, enough := o.take(o.product, o.quantity)
	time.Sleep(20 * time.Millisecond)
	o.release()
	o.answer(left, enough)
	delete(o.doc, "trace")
}

// sellTogether combines the waiting orders of an instance under the lease of the first one.
func sellTogether(a, b *instance) {
	var lock sync.Mutex
	for _, in := range []*instance{a, b} {
		in.fenced, in.sell = true, (&batches{lock: &lock}).sell
	}
}

// batches are the batches of one instance. While one holds the lock, which all instances share, the next one gathers.
type batches struct {
	lock    *sync.Mutex
	mu      sync.Mutex
	waiting []*order
	sold    chan struct{} // closed when the waiting orders are sold
}

func (b *batches) sell(o *order) {
	b.mu.Lock()
	b.waiting = append(b.waiting, o)
	if len(b.waiting) > 1 {
		sold := b.sold
		b.mu.Unlock()
		<-sold
		return
	}
	sold := make(chan struct{})
	b.sold = sold
	b.mu.Unlock()
	b.lock.Lock()
	defer b.lock.Unlock()
	b.mu.Lock()
	batch := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	sellAll(batch)
	close(sold)
}

// sellAll sells to a batch under the lease of its first order.
func sellAll(batch []*order) {
	first := batch[0]
	first.acquire()
	for _, o := range batch {
		o.answer(o.take(o.product, o.quantity))
	}
	time.Sleep(first.work)
	first.release()
	first.show()
	for _, o := range batch[1:] {
		o.doc["sold_by"] = first.id
	}
}

// freesAnothers makes one order remove the lock a second time, after others have acquired it.
func freesAnothers(a, _ *instance) {
	var served atomic.Int64
	a.sell = func(o *order) {
		a.underLock(o)
		served.Add(1)
	}
	a.tell = func(o *order) {
		if o.number != 5 {
			return
		}
		ctx, cancel := context.WithTimeout(o.request.Context(), 10*time.Second)
		defer cancel()
		for before := served.Load(); served.Load() < before+2 && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		o.command("del", "1")
	}
}
