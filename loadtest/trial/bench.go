package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/wire"
)

// The numbers of the instances.
const atA, atB = 0, 1

// A bench is a rig with two instances of the shop, and the cell that is played on it.
type bench struct {
	*Trial
	*rig.Rig
	ctx    context.Context
	cancel context.CancelFunc
	ledger *wire.Ledger
	looker atomic.Pointer[wire.Looker] // swapped while instances may send commands
	client *http.Client
	all    sync.WaitGroup

	cell   *history.Cell // the one being played
	orders []*order
	extra  []history.Op // of the trial itself
	before int          // writes of the stock by earlier cells
	blind  atomic.Bool  // the effects of commands are not observed

	holders holders
	ends    []lockEnd
}

// isDown reports whether an instance has exited.
func (b *bench) isDown(at int) bool { return isClosed(b.Ends[at].In.Exited()) }

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// noteDeaths records which instances have exited on their own.
func (b *bench) noteDeaths() {
	for at, e := range b.Ends {
		killed := slices.ContainsFunc(b.cell.Faults, func(f history.Fault) bool {
			return f.Instance == e.Name && f.Kind == history.FaultKill
		})
		if now := b.since(time.Now()); b.isDown(at) && !killed {
			f := rig.DiedFault(lastWords(e.In.Tail()))
			f.Instance, f.At, f.End = e.Name, now, now
			b.cell.Faults = append(b.cell.Faults, f)
		}
	}
}

// lastWords returns the last line of output with an error, or else the last line.
func lastWords(lines []string) string {
	if strings.TrimSpace(strings.Join(lines, "")) == "" {
		return "without any output"
	}
	said := lines[len(lines)-1]
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			said = line
		}
	}
	return "last output: " + history.Clip(strings.TrimSpace(said))
}

// open starts the Redis, the proxies and the instances of a bench. Close it.
func (t *Trial) open(ctx context.Context) (*bench, error) {
	b := &bench{Trial: t, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	b.ctx, b.cancel = context.WithCancel(ctx)
	r, err := t.bed.Start(ctx, rig.Plan{Gate: wire.NewGate(nil), Servers: []string{"redis"}, Apart: true, Ends: 2,
		Foreign: &cluster.ForeignOptions{Name: "the shop", Argv: t.Argv, Within: t.Within, Database: t.Database},
		Wired: func(r *rig.Rig) error {
			b.Rig = r
			return b.watch(ctx)
		}})
	if b.Rig == nil { // there are no proxies; else the gate is open by now
		b.Rig = r
	}
	if err == nil {
		err = b.put(b.unitsFor(0)) // an instance may have put its own stock at start
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// watch observes the effects of each command from now on, and passes it unless a trap catches it.
func (b *bench) watch(ctx context.Context) (err error) {
	if b.ledger, err = wire.NewLedger(ctx, b.Stores[0].Redis, b.shelf()); err != nil {
		return err
	}
	b.lookAt(nil) // to read back the stock after an order
	if err = b.put(b.unitsFor(0)); err != nil {
		return err
	}
	b.Gate.Look = func(cmd *wire.Command, carryOut func()) {
		if !b.blind.Load() {
			b.looker.Load().Around(cmd, carryOut)
			return
		}
		carryOut()
	}
	b.Gate.Begin()
	b.all.Go(func() {
		b.LetThrough(b.ctx, func(cmd *wire.Command) bool { return b.passport.Releases[b.shape(&cmd.Seen)] })
	})
	return nil
}

// close stops everything on a bench.
func (b *bench) close() {
	b.Rig.Close()
	b.cancel()
	b.all.Wait()
	for _, o := range b.orders {
		<-o.Done()
	}
	if b.ledger != nil {
		b.ledger.Close()
	}
}

// shape returns the shape of a command.
func (t *Trial) shape(s *wire.Seen) sale.Shape { return t.passport.ShapeOf(s, t.shelf()) }

// lookAt observes the stock and these locks from now on.
func (b *bench) lookAt(locks []wire.Lock) {
	looker := wire.NewLooker(b.ledger, locks)
	looker.Saw = b.holders.saw
	b.looker.Store(looker)
}

// alone calls do while no command is in flight.
func (b *bench) alone(do func(*redis.Client) error) (err error) {
	b.looker.Load().Alone(func() { err = do(b.Stores[0].Redis) })
	return err
}

// put sets the stock to n units.
func (b *bench) put(n int64) error {
	if b.isElsewhere() {
		return b.putElsewhere(n)
	}
	fill := strings.NewReplacer("{product}", b.Product, "{n}", strconv.FormatInt(n, 10))
	args := make([]any, len(b.Stock))
	for i, arg := range b.Stock {
		args[i] = fill.Replace(arg)
	}
	return b.alone(func(to *redis.Client) error {
		if err := b.atShelf(to, args...).Err(); err != nil {
			return fmt.Errorf("put the stock with %q: %w", strings.Join(b.Stock, " "), err)
		}
		return nil
	})
}

// readStock records the stock left at the end of a cell.
func (b *bench) readStock() error {
	if b.isElsewhere() {
		return b.endCount()
	}
	left, err := b.left()
	b.cell.Left = &left
	return err
}

// atShelf executes a command in the Redis database of the stock.
func (b *bench) atShelf(to *redis.Client, args ...any) (cmd *redis.Cmd) {
	_, _ = to.TxPipelined(b.ctx, func(p redis.Pipeliner) error { // each command has its own error, or that of all
		p.Do(b.ctx, "SELECT", b.db)
		cmd = p.Do(b.ctx, args...)
		p.Do(b.ctx, "SELECT", 0)
		return nil
	})
	return cmd
}

// left reads the stock, at least 0: a shop that goes below zero, and refuses the order, has sold nothing.
func (b *bench) left() (n int64, err error) {
	shelf := b.shelf()
	err = b.alone(func(to *redis.Client) error {
		if shelf.Field == "" {
			n, err = b.atShelf(to, "GET", shelf.Key).Int64()
		} else {
			n, err = b.atShelf(to, "HGET", shelf.Key, shelf.Field).Int64()
		}
		if errors.Is(err, redis.Nil) { // some delete the key with the last unit
			return nil
		}
		return err
	})
	return max(n, 0), err
}

// isFit reports whether the bench is fit for another cell after one: the fresh orders of the cell have sold at both
// instances, or else others do now, and the lock is free.
func (b *bench) isFit() bool {
	if !b.soldAfresh() || b.isDown(atA) || b.isDown(atB) {
		return b.isAsNew()
	}
	b.Quiet(b.ctx)
	return b.becomesFree()
}

// soldAfresh reports whether the last fresh order at each instance has sold.
func (b *bench) soldAfresh() bool {
	var sold [2]bool
	for _, o := range b.orders {
		if o.fresh {
			sold[o.At] = b.hasSold(o)
		}
	}
	return sold[atA] && sold[atB]
}

// isAsNew reports whether an order at each instance sells, and leaves no lock.
func (b *bench) isAsNew() bool {
	b.begin(fault{})
	for at := range b.Ends {
		if b.isDown(at) {
			return false
		}
		o, err := b.plain("warm-"+strconv.Itoa(at), at)
		if err != nil {
			return false
		}
		if wait(o, b.passport.Limit()); !b.hasSold(o) {
			return false
		}
	}
	b.Quiet(b.ctx) // a release may come after the answer
	return b.becomesFree()
}

// becomesFree reports whether the lock is at rest, or expires within a lease: some locks are kept for a while on
// purpose.
func (b *bench) becomesFree() bool {
	taken := func(l *wire.Lock, s wire.KeyState) bool { return !l.AtRest(s) }
	expires := func(s wire.KeyState) bool { return s.TTL() > 0 }
	held, known := b.heldFor(min(b.passport.Lease(), sale.MostLease), taken, expires)
	return known && !held
}

// heldFor reports whether the lock, or a key of it, stays held for that time, and whether that is known. It does not
// wait for a held key that is not worth it.
func (b *bench) heldFor(
	atMost time.Duration, isHeld func(*wire.Lock, wire.KeyState) bool, isWorth func(wire.KeyState) bool,
) (held, known bool) {
	for late := time.Now().Add(atMost); ; time.Sleep(10 * time.Millisecond) { // no command tells of an expiry
		states, waits := b.looker.Load().Look(), true
		held = false
		for i := range b.passport.Keys {
			l := &b.passport.Keys[i]
			if s := states[l.Key]; isHeld(l, s) {
				held, waits = true, waits && isWorth(s)
			}
		}
		if !held || !waits || time.Now().After(late) || b.ctx.Err() != nil {
			return held, states != nil
		}
	}
}

// begin begins the cell of a fault, or of none while the trial learns.
func (b *bench) begin(f fault) {
	b.awaitLate()
	b.cell, b.orders, b.extra, b.ends = b.newCell(f), nil, nil, nil
	b.cell.Start = time.Now()
	b.holders.begin(b.cell.Start)
	for _, e := range b.Ends {
		b.cell.Instances = append(b.cell.Instances, history.Instance{Name: e.Name, URL: e.In.URL})
	}
	b.Gate.Begin()
	writes, _, err := b.ledger.Writes(b.ctx)
	if err == nil {
		b.before = len(writes)
	}
}
