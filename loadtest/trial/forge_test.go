package trial

import (
	"slices"
	"strconv"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// lockKey is the lock of forged records; stockKey is the stock.
const lockKey, stockKey = "lock:10000", "ProductStock_10000"

// A forgery is a cell whose orders and commands are made up: no process is started.
type forgery struct {
	*bench
	record map[*order][]observation
}

// forge begins a forgery at a shop whose lock is a leased key with a token.
func forge() *forgery {
	p := &Passport{Locks: []string{lockKey},
		locks: []wire.Lock{{Key: wire.Key{Name: lockKey}, Parts: []string{""}}},
		TTL:   2 * time.Second, Token: true, Release: "a script",
		writes: map[string]bool{"set stock": true}, acquires: map[string]bool{"set lock": true},
		releases: map[string]bool{}, renewals: map[string]bool{}}
	t := &Trial{Options: Options{Stock: []string{"SET", "ProductStock_{product}", "{n}"}, Product: "10000"}, passport: p}
	b := &bench{Trial: t, begun: time.Unix(1000, 0)}
	for i := range 2 {
		b.sites = append(b.sites, &site{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}})
	}
	return &forgery{b, map[*order][]observation{}}
}

// after returns a moment of the cell.
func (f *forgery) after(ms int) time.Time { return f.begun.Add(time.Duration(ms) * time.Millisecond) }

// order adds an order that lasted from one moment to another.
func (f *forgery) order(name string, at int, outcome history.Outcome, from, to int, commands ...observation) *order {
	o := &order{name: name, at: at, phase: history.Buy, outcome: outcome, sent: f.after(from), done: make(chan struct{})}
	if to > 0 {
		o.ended, o.over = f.after(to), f.after(to)
	}
	close(o.done)
	f.orders = append(f.orders, o)
	f.record[o] = commands
	return o
}

// command is one that came to its wire at that moment, was answered a millisecond later, and that reply delivered.
func (f *forgery) command(ms int, effect history.Effect, args ...string) observation {
	c := f.unseen(ms, args...)
	key := lockKey
	if len(args) > 1 && args[0] != "eval" {
		key = args[1]
	}
	c.effects = []history.Command{{Cmd: args[0], Key: key, Source: history.Looked, Effect: effect,
		At: history.At(f.begun, c.Sent), End: history.At(f.begun, c.Answered)}}
	return c
}

// unseen is one at which nobody looked.
func (f *forgery) unseen(ms int, args ...string) observation {
	return observation{Seen: wire.Seen{Command: schedule.Command{Name: args[0]}, Args: args,
		Came: f.after(ms), Sent: f.after(ms), Answered: f.after(ms + 1), Delivered: f.after(ms + 1)}}
}

func (f *forgery) acquire(ms int) observation {
	return f.command(ms, history.EffectAcquired, "set", lockKey, "a token of its own", "nx", "px", "2000")
}

func (f *forgery) tried(ms int) observation {
	return f.command(ms, history.EffectTried, "set", lockKey, "another token", "nx", "px", "2000")
}
func (f *forgery) read(ms int) observation { return f.command(ms, history.EffectRead, "get", stockKey) }

// write is one that leaves 9 units of ten.
func (f *forgery) write(ms int) observation { return f.leave(ms, 9) }

func (f *forgery) leave(ms, left int) observation {
	return f.command(ms, history.EffectWrote, "set", stockKey, strconv.Itoa(left))
}

func (f *forgery) release(ms int) observation {
	return f.command(ms, history.EffectReleased, "eval", "script", "1", lockKey, "a token of its own")
}
func (f *forgery) del(ms int) observation {
	return f.command(ms, history.EffectReleased, "del", lockKey)
}

// renewal is one by which the shop is known to renew.
func (f *forgery) renewal(ms int, effect history.Effect) observation {
	c := f.command(ms, effect, "eval", "renew", "1", lockKey, "a token of its own")
	f.passport.Every, f.passport.renewals[f.shape(&c.Seen)] = 600*time.Millisecond, true
	return c
}

// without takes the reply from a command: it was not delivered.
func without(reply observation) observation {
	reply.Delivered = time.Time{}
	return reply
}

// hungUp is an order whose customer hung up at that moment.
func (f *forgery) hungUp(ms int, o *order) {
	o.ended, o.over = time.Time{}, f.after(ms)
}

// killed is a fault that ends a at that moment.
func (f *forgery) killed(ms int) {
	f.faults = append(f.faults, history.Fault{Instance: f.sites[atA].Name, Kind: history.FaultKill, Text: "killed",
		At: history.At(f.begun, f.after(ms))})
}

// heardAt delays a command's reply: it was delivered at that moment.
func heardAt(ms int, f *forgery, c observation) observation {
	c.Delivered = f.after(ms)
	return c
}

// wrote is what the ledger has of a write.
func (f *forgery) wrote(ms, at int, before, after int64, counts bool) written {
	return written{wire.StockWrite{At: f.after(ms), Before: before, After: after, Counts: counts}, at}
}

// judge judges the forgery as a cell of that fault, and explains it.
func (f *forgery) judge(name string) *history.Cell {
	left := int64(10)
	c := &history.Cell{Kind: history.Trial, Scenario: name, Product: f.Product, Initial: left, TTL: f.passport.TTL,
		Limit: f.patience(), Start: f.begun, Elapsed: time.Minute,
		Client: &history.Client{Loop: "closed", Longest: f.stalled}}
	for _, e := range f.sites {
		c.Instances = append(c.Instances,
			history.Instance{Name: e.Name, Clock: "loadtest", Offsets: make([]history.Offset, 2)})
	}
	var writes []written
	for o, commands := range f.record {
		for _, cmd := range commands {
			if writesStock(cmd) {
				n, err := strconv.ParseInt(cmd.Args[len(cmd.Args)-1], 10, 64)
				w := written{StockWrite: wire.StockWrite{At: cmd.Sent, After: n, Counts: err != nil}}
				if o != nil {
					w.at = o.at
				}
				writes = append(writes, w)
			}
		}
	}
	slices.SortFunc(writes, func(x, y written) int { return x.At.Compare(y.At) })
	for i := range writes {
		w := &writes[i]
		if w.Before = left; w.Counts {
			w.After = left - 1
		}
		left = w.After
	}
	units := f.unitsOf(writes, f.record)
	c.Ops = f.ops(f.record, units, true, f.after(60000))
	c.Left, c.Faults, c.Client.Asked, c.Client.Delivered = &left, f.faults, len(c.Ops), len(c.Ops)
	c.Findings, c.Coverage = audit.Judge(c)
	f.explain(fault{name: name}, c, f.record)
	return c
}
