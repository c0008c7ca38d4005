package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// another returns the id of another order of the same product.
func another(o *order) string {
	if id := o.product + "-1"; o.id != id {
		return id
	}
	return o.product + "-2"
}

// tells bends what a's orders are told.
func tells(tell func(o *order)) func(a, b *instance) {
	return func(a, b *instance) { a.tell, b.tell = tell, tell }
}

// sells bends how orders are served; honest serves one as it should be.
func sells(sell func(o *order, honest func(*order))) func(a, b *instance) {
	return func(a, b *instance) {
		for _, in := range []*instance{a, b} {
			in.sell = func(o *order) { sell(o, in.underLock) }
		}
	}
}

// probing reports whether the order is a fresh one that is sent after the load.
func probing(o *order) bool { return o.number > buyers }

const buyers = 40 // as load has it

// onSale edits the answer to the nth sale of each run.
func onSale(n int64, edit func(o *order)) func(a, b *instance) {
	return func(a, b *instance) {
		var sales atomic.Int64
		tells(func(o *order) {
			if o.status == http.StatusOK && sales.Add(1) == n {
				edit(o)
			}
		})(a, b)
	}
}

// bare makes the answer one of that status with nothing in it.
func bare(o *order, status int) { o.status, o.doc = status, map[string]any{} }

// The slow ones come first, so that the others run beside them.
var misbehaviours = []misbehaviour{
	{
		name: "an order that hangs", slow: true, flags: []string{"--wait", "0s"},
		bend: func(a, _ *instance) {
			a.sell = patient(a)
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
		name: "423 to everybody", slow: true, flags: []string{"--ttl", "1s"},
		bend: sells(func(o *order, _ func(*order)) { o.refuse(http.StatusLocked, "lock-busy", "busy") }),
		want: "unknown – – BROKEN – – –", code: surprised, says: `did not get through in`,
	},
	{
		name: "says sold out with 6 of 10 left",
		bend: sells(func(o *order, honest func(*order)) {
			if quantity := o.quantity; o.number > 4 && !probing(o) {
				o.quantity = 1000 // of which there are too few
				honest(o)
				o.quantity = quantity
				return
			}
			honest(o)
		}),
		want: "BROKEN ok ok ok – – –", code: surprised, says: `(?i)refused|sold out`,
	},
	{
		name: "409 to everybody",
		bend: tells(func(o *order) { o.refuse(http.StatusConflict, "sold-out", "sold out: 0 left"); o.hide() }),
		want: "BROKEN – – ok – – –", code: surprised, says: `(?i)refused|sold out`,
	},
	{
		// Those that come first are told that all is gone, under leases as they should be; then all is sold.
		name: "says sold out with 10 of 10 left, and then sells all",
		bend: func(a, b *instance) {
			first := make(chan struct{})
			var refused atomic.Int64
			sells(func(o *order, honest func(*order)) {
				if o.number > buyers-10 {
					<-first
					honest(o)
					return
				}
				quantity := o.quantity
				o.quantity = 1000 // of which there are too few
				honest(o)
				o.quantity, o.doc["detail"] = quantity, "sold out: 0 left"
				if refused.Add(1) == buyers-10 {
					close(first)
				}
			})(a, b)
		},
		flags: []string{"--concurrency", "40"},
		want:  "BROKEN ok ok ok – – –", code: surprised, says: `refused order \d+ .*although at least \d+ of 10 were left`,
	},
	{
		name: "leases that end when they begin", rung: "v15",
		bend: fenced(func(o *order) { o.lease["released_at"] = o.lease["acquired_at"] }),
		want: "ok unknown ok ok unknown – –", code: couldNotRun, says: `the lease of 0 was seen|no two leases`,
	},
	{
		name: "423 to all buyers",
		bend: sells(func(o *order, honest func(*order)) {
			if !probing(o) {
				o.refuse(http.StatusLocked, "lock-busy", "busy")
				return
			}
			honest(o)
		}),
		want: "unknown unknown ok ok – – –", code: couldNotRun, says: `(?i)busy|nobody|nothing was sold`,
	},
	{
		name: "500 that sells all",
		bend: tells(func(o *order) {
			if o.status == http.StatusOK {
				bare(o, http.StatusInternalServerError)
			}
		}),
		want: "unknown unknown unknown ok – – –", code: couldNotRun, says: `10 (units|orders)`,
	},
	{
		name: "500 that sells some and loses units",
		bend: sells(func(o *order, honest func(*order)) {
			honest(o)
			if o.status == http.StatusOK && o.number%2 == 0 {
				o.take(o.product, 1)
				bare(o, http.StatusInternalServerError)
			}
		}),
		want: "BROKEN unknown unknown ok – – –", code: surprised,
		says: `\d sold, but the stock went from 10 to 0|a refused order \d+ .* were left`,
	},
	{
		name: "a unit lost beside a 500 that sold nothing",
		bend: func(a, b *instance) {
			sells(func(o *order, honest func(*order)) {
				if o.number == 3 {
					bare(o, http.StatusInternalServerError)
					return
				}
				honest(o)
			})(a, b)
			onSale(4, func(o *order) { o.take(o.product, 1) })(a, b) // and tells nobody
		},
		want: "unknown unknown unknown ok – – –", code: couldNotRun, says: `1 (units?|orders?)`,
	},
	{
		name: "a 200 with two units, one of them another's",
		bend: onSale(5, func(o *order) {
			o.doc["units"] = []int64{o.left + 1, o.left + 2}
		}),
		want: "BROKEN ok ok ok – – –", code: surprised,
		says: `sold unit \d+ to order \d+ .* sold unit \d+ again to order \d+`,
	},
	{
		name: "a 200 without units",
		bend: onSale(5, func(o *order) { o.doc["units"] = []int64{} }),
		want: "unknown ok ok ok – – –", code: couldNotRun, says: `1 (units?|orders?)`,
	},
	{
		name: "a 200 for another's order, with a unit of its own",
		// Its outcome is unknown, and yet each unit is named by one receipt and no more: the books balance. Its own lease is
		// not known.
		bend: onSale(5, func(o *order) { o.doc["order"] = another(o) }),
		want: "ok unknown unknown ok – – –", code: couldNotRun, says: `v4 lua-release +1 unknown .* +9 +30 +0 +1`,
	},
	{
		name: "a 200 for another's order, with somebody else's unit",
		bend: onSale(5, func(o *order) {
			o.doc["order"], o.doc["units"] = "somebody-else", []int64{o.left + 2}
		}),
		want: "BROKEN unknown unknown ok – – –", code: surprised,
		says: `sold unit \d+ to order \d+ .* sold unit \d+ again to order \d+`,
	},
	{
		name: "a 200 without units to all", // such as one that says sold out: whom it sold to is not known
		bend: sells(func(o *order, honest func(*order)) {
			honest(o)
			if !probing(o) {
				o.status, o.doc["order"], o.doc["units"], o.doc["quantity"] = http.StatusOK, o.id, []int64{}, 0
			}
		}),
		want: "unknown ok ok ok – – –", code: couldNotRun, says: `40 units are of unknown outcome`,
	},
	{
		name: "a 200 that is no JSON",
		bend: onSale(5, func(o *order) { o.doc = nil }),
		want: "unknown unknown unknown ok – – –", code: couldNotRun, says: `1 (units?|orders?)`,
	},
	{
		name: "one unit for all",
		bend: sells(func(o *order, _ func(*order)) {
			o.acquire()
			o.release()
			o.sold(9)
			o.hide()
		}),
		want: "BROKEN – – ok – – –", code: surprised,
		says: `a sold unit 10 to order \d+ at \S+ s; a sold unit 10 again to order \d+`,
	},
	{
		name: "a unit beyond the stock",
		bend: onSale(5, func(o *order) { o.doc["units"] = []int64{1000} }),
		want: "BROKEN ok ok ok – – –", code: surprised, says: `a sold unit 1000 to order \d+, of a stock of 10`,
	},
	{
		name: "a lost unit",
		bend: onSale(5, func(o *order) { o.take(o.product, 1) }),
		want: "BROKEN ok ok ok – – –", code: surprised,
		says: `9 sold, but the stock went from 10 to 0|a refused order \d+ .* were left`,
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
		name: "one lease of all",
		bend: tells(func(o *order) {
			if o.number != 3 {
				o.hide()
			}
		}),
		want: "ok unknown unknown ok – – –", code: couldNotRun, says: `(?i)lease`,
	},
	{
		name: "leases without an end",
		bend: tells(func(o *order) {
			if l := o.lease; l != nil {
				delete(l, "released_at")
			}
		}),
		want: "ok unknown ok ok – – –", code: couldNotRun, says: `(?i)lease`,
	},
	{
		name: "instances that nobody introduced",
		bend: tells(func(o *order) {
			for _, name := range []string{"instance", "instance_name"} {
				if o.doc[name] != nil {
					o.doc[name] = fmt.Sprintf("pod-%d", o.number)
				}
			}
		}),
		want: "ok – – ok – – –", code: couldNotRun,
		says: `not asked: the instance "pod-\d+" was not asked which clock it has`,
	},
	{
		name: "one clock that two hosts claim to have", two: true,
		bend: func(_, b *instance) { b.now = ahead(3 * time.Second) },
		want: stepped, code: couldNotRun, says: `was stepped during the cell, or does not run as`,
	},
	{
		name: "two at once on one clock",
		bend: sells(func(o *order, _ func(*order)) { unlocked(o) }),
		want: "ok BROKEN – ok – – –", code: surprised, says: `both held the lock for \d+\.\d+ ms`,
	},
	{
		name: "two at once on two clocks", two: true,
		bend: func(a, b *instance) {
			b.clock, b.now = "of b", ahead(3*time.Second)
			for _, in := range []*instance{a, b} {
				var own sync.Mutex // each keeps its own orders apart, and knows nothing of the other's
				in.sell = func(o *order) {
					own.Lock()
					defer own.Unlock()
					unlocked(o)
				}
			}
		},
		// It tells no commands either, and that is the surprise.
		want: twoHosts, code: surprised, says: `exclusion was expected to be ok and is –: not asked: two hosts`,
	},
	{
		name: "a lock that frees somebody else's", bend: freesAnothers(),
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
		name: "a token that two get", rung: "v15",
		bend: func(a, _ *instance) {
			a.tell = func(o *order) {
				if l := o.lease; l != nil {
					l["fence"] = 1 + o.token()/2
				}
			}
		},
		want: "ok ok ok ok BROKEN – –", code: surprised, says: `both got token \d+`,
	},
	{
		name: "sold by an order that nobody sent", rung: "v19",
		bend: together(func(o, _ *order, _ []*order) { o.doc["sold_by"] = "nobody" }),
		want: unproven, code: couldNotRun, says: `says that it was sold by order nobody, which is not in the cell`,
	},
	{
		name: "sold by itself", rung: "v19",
		bend: together(func(o, _ *order, _ []*order) { o.doc["sold_by"] = o.id }),
		want: unproven, code: couldNotRun, says: `order (\S+) on a says that it was sold by order \S+, which is itself`,
	},
	{
		name: "each sold by the one before it", rung: "v19",
		bend: together(func(o, before *order, _ []*order) { o.doc["sold_by"] = before.id }),
		want: unproven, code: couldNotRun, says: `says that it was sold by order \S+, which was sold by order \S+ itself`,
	},
	{
		name: "all sold by the first of the day", rung: "v19",
		bend: together(func(o, _ *order, firsts []*order) {
			n, err := strconv.Atoi(strings.TrimPrefix(o.id, o.product+"-"))
			if err != nil || n > 10 { // it was sent when an order of the first batch had been answered
				o.doc["sold_by"] = firsts[0].id
			}
		}),
		want: unproven, code: couldNotRun, says: `says that it was sold by order \S+, whose lease had ended by \S+ s`,
	},
	{
		name: "sold by an order of the other instance", rung: "v19", two: true,
		bend: together(func(o, _ *order, firsts []*order) {
			for _, first := range firsts {
				if first.instance != o.instance {
					o.doc["sold_by"] = first.id
				}
			}
		}),
		want: unproven, code: couldNotRun,
		says: `on (a says that it was sold by order \S+, which is an order of b|b says .*, which is an order of a)`,
	},
	{
		name: "all sold by others, and nobody shows a lease", rung: "v19",
		bend: func(a, b *instance) {
			together(nil)(a, b)
			a.tell = func(o *order) { o.hide(); o.doc["sold_by"] = another(o) }
		},
		want: "ok unknown – ok – – –", code: surprised, says: `says that it was sold by order \d+, which was sold by`,
	},
	{
		name: "connections that are cut",
		bend: tells(func(o *order) {
			if o.number == 3 {
				o.status = 0
			}
		}),
		want: "unknown unknown unknown ok – – –", code: couldNotRun, says: `1 (units?|orders?)`,
	},
	{
		// The fresh request after the load buys what is left, and 1,000 units at most: no unit is missing.
		name: "nothing, of a stock that nobody buys up", flags: []string{"--stock", "5000"},
		want: holds, code: asExpected, says: `v4 lua-release +1 ok +40 +0 +0 +0 +4960 `,
	},
	{
		name: "a stock that cannot be read",
		bend: func(a, _ *instance) { a.without = append(a.without, "GET /stock/{product}") },
		want: "unknown ok ok ok – – –", code: couldNotRun, says: `the stock could not be read`,
	},
}

var innocents = []misbehaviour{
	{name: "as it should be", want: holds},
	{name: "as it should be, over two", two: true, want: holds},
	{name: "sold together", rung: "v19", bend: together(nil), want: holdsFenced},
	{name: "sold together, over two", rung: "v19", two: true, bend: together(nil), want: holdsFenced},
	{name: "atomic", rung: "v17", bend: tells(func(o *order) { o.hide() }), want: "ok – – ok – – –"},
	{
		name: "one late reading of the stock", want: holds,
		bend: func(a, _ *instance) {
			var asked atomic.Int64
			a.count = func(left int64) int64 {
				if asked.Add(1) == 2 { // the first one after the load is for the size of the probe
					return left + 3
				}
				return left
			}
		},
	},
	{
		// It is the one that a proxy delivers twice: to the order that it is for, and to the next one.
		name: "an answer that is delivered to two orders", want: "unknown unknown unknown ok – – –", code: couldNotRun,
		bend: deliversTwice,
	},
	{name: "times of a clock with milliseconds", want: holds, bend: toMilliseconds(0)},
	{name: "times of clocks with milliseconds, over two", two: true, want: holds, bend: toMilliseconds(0)},
	{
		name: "times of two clocks with milliseconds", two: true, want: twoHosts, code: couldNotRun,
		bend: toMilliseconds(3 * time.Second),
	},
	{
		name: "tokens by a clock with milliseconds", rung: "v15", want: holdsFenced,
		bend: func(a, b *instance) { toMilliseconds(0)(a, b); a.fenced = true },
	},
	{
		name: "readings of the stock that lag by 300 ms", slow: true, want: holds, bend: lagging(300 * time.Millisecond),
	},
	{
		name: "a clock that is stepped forward", bend: steps(2 * time.Second), want: stepped, code: couldNotRun,
	},
	{
		name: "a clock that is stepped back", bend: steps(-2 * time.Second), want: stepped, code: couldNotRun,
	},
	{
		name: "one clock ahead by seconds", two: true, want: twoHosts, code: couldNotRun,
		bend: func(_, b *instance) { b.clock, b.now = "of b", ahead(3*time.Second) },
	},
	{
		name: "one clock behind by an hour", two: true, want: twoHosts, code: couldNotRun,
		bend: func(_, b *instance) { b.clock, b.now = "of b", ahead(-time.Hour) },
	},
	{
		name: "stalls of 200 ms under the lock", slow: true, want: holds,
		bend: sells(func(o *order, honest func(*order)) {
			if o.number%20 == 7 {
				o.work = 200 * time.Millisecond
			}
			honest(o)
		}),
	},
	{
		name: "stalls of 200 ms before the answer", slow: true, want: holds,
		bend: tells(func(o *order) {
			if o.number%10 == 7 {
				time.Sleep(200 * time.Millisecond)
			}
		}),
	},
	{
		name: "an answer that is lost, of an order that can be asked for", want: "ok unknown unknown ok – – –",
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
	{
		name: "lost answers, and a 500", slow: true, want: "unknown unknown unknown ok – – –", code: couldNotRun,
		bend: tells(func(o *order) {
			switch o.number {
			case 3:
				o.status = 0
			case 5:
				bare(o, http.StatusInternalServerError)
			}
		}),
	},
}

// twoHosts are the results where times of two clocks would have to be compared, and stepped those where a clock was.
const (
	twoHosts = "ok – – ok – – –"
	stepped  = "invalid: unknown unknown unknown unknown – – –"
)

// unproven are the results of a shop that sells as it should, and tells of leases what cannot be.
const unproven = "ok unknown unknown ok unknown – –"

// ahead returns a clock that is ahead by so much.
func ahead(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

// toMilliseconds has both clocks tell milliseconds, as JavaScript's toISOString does, and b's be another one that is
// ahead by so much, unless that is 0.
func toMilliseconds(apart time.Duration) func(a, b *instance) {
	return func(a, b *instance) {
		a.now = func() time.Time { return time.Now().Truncate(time.Millisecond) }
		b.now = func() time.Time { return time.Now().Add(apart).Truncate(time.Millisecond) }
		if apart != 0 {
			b.clock = "of b"
		}
	}
}

// deliversTwice has the answer to one sale be that to the next sale as well.
func deliversTwice(a, b *instance) {
	var mu sync.Mutex
	var sales int
	var answer map[string]any
	tells(func(o *order) {
		mu.Lock()
		defer mu.Unlock()
		if o.status != http.StatusOK || probing(o) {
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

// lagging has readings of the stock be late by so much: until then they lack the last three units.
func lagging(by time.Duration) func(a, b *instance) {
	return func(a, b *instance) {
		var last atomic.Int64
		tells(func(*order) { last.Store(time.Now().UnixNano()) })(a, b)
		a.count = func(left int64) int64 {
			if time.Since(time.Unix(0, last.Load())) < by {
				return left + 3
			}
			return left
		}
	}
}

// steps has a's clock be stepped by so much in the middle of the load.
func steps(by time.Duration) func(a, b *instance) {
	return func(a, _ *instance) {
		a.now = func() time.Time {
			if a.arrived() > buyers/2 {
				return time.Now().Add(by)
			}
			return time.Now()
		}
	}
}

// fenced has the lock draw tokens, and bends what is told of each lease.
func fenced(tell func(o *order)) func(a, b *instance) {
	return func(a, b *instance) {
		for _, in := range []*instance{a, b} {
			in.fenced = true
			in.tell = func(o *order) {
				if o.lease != nil {
					tell(o)
				}
			}
		}
	}
}

// unlocked serves an order without a lock that keeps others out, and without harm to the stock. It has no trace, which
// would tell as well.
func unlocked(o *order) {
	o.acquire()
	left, enough := o.take(o.product, o.quantity)
	time.Sleep(20 * time.Millisecond)
	o.release()
	o.answer(left, enough)
	delete(o.doc, "trace")
}

// together has the orders of an instance that wait for the lock be sold together, under the lease of the first of them.
// says bends what each of the others says of that, given the order before it, and the firsts of all batches so far.
func together(says func(o, before *order, firsts []*order)) func(a, b *instance) {
	return func(a, b *instance) {
		s := &shared{says: says}
		for _, in := range []*instance{a, b} {
			in.fenced, in.sell = true, (&batches{shared: s}).sell
		}
	}
}

// shared belongs to all instances: the lock, and the first order of each batch.
type shared struct {
	lock   sync.Mutex
	firsts []*order
	says   func(o, before *order, firsts []*order)
}

// batches are those of one instance. While one has the lock, the next one gathers.
type batches struct {
	*shared
	mu      sync.Mutex
	waiting []*order
	sold    chan struct{} // is closed when those that wait have been sold
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
	b.sellAll(batch)
	close(sold)
}

// sellAll sells to a batch under the lease of its first order.
func (b *batches) sellAll(batch []*order) {
	first := batch[0]
	b.firsts = append(b.firsts, first)
	first.acquire()
	for _, o := range batch {
		o.answer(o.take(o.product, o.quantity))
	}
	time.Sleep(first.work)
	first.release()
	first.show()
	for i, o := range batch[1:] {
		o.doc["sold_by"] = first.id
		if b.says != nil {
			b.says(o, batch[i], b.firsts)
		}
	}
}

// patient serves orders as they should be, and waits for the lock also where they do not say so.
func patient(in *instance) func(o *order) {
	return func(o *order) {
		o.wait = time.Second
		in.underLock(o)
	}
}

// freesAnothers has one order remove the lock once more, when another has had it since.
func freesAnothers() func(a, b *instance) {
	return func(a, _ *instance) {
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
}
