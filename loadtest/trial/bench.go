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
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// The instances.
const atA, atB = 0, 1

// A bench is a Redis with two instances of the shop before it, each behind a wire of its own.
type bench struct {
	*Trial
	ctx    context.Context
	cancel context.CancelFunc
	redis  *cluster.Redis
	store  *wire.Store
	gate   *wire.Gate
	ledger *wire.Ledger
	looker atomic.Pointer[wire.Looker] // an instance may send commands at any time
	sites  []*site
	client *http.Client
	all    sync.WaitGroup

	begun   time.Time // the cell that is under way
	orders  []*order
	faults  []history.Fault
	extra   []history.Op // of the trial itself
	initial int64        // the stock at the beginning
	before  int          // writes of the stock by the cells before
	blind   atomic.Bool  // nobody looks

	trapsMu sync.Mutex
	traps   []*trap
}

// An end is an instance at the end of its wire.
type site struct {
	schedule.Client
	server *schedule.Server
	wire   *wire.Wire
	shop   *cluster.Foreign
}

// isDown reports whether the instance has ended.
func (e *site) isDown() bool { return isClosed(e.shop.Exited()) }

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// noteDeaths notes which instances have ended by themselves.
func (b *bench) noteDeaths() {
	for _, e := range b.sites {
		killed := slices.ContainsFunc(b.faults, func(f history.Fault) bool {
			return f.Instance == e.Name && f.Kind == history.FaultKill
		})
		if now := b.since(time.Now()); e.isDown() && !killed {
			b.faults = append(b.faults, history.Fault{Instance: e.Name, Kind: history.FaultDied, At: now, End: now,
				Text: "ended, " + lastWords(e.shop.Tail())})
		}
	}
}

// lastWords returns the last line that names an error, or else the last line.
func lastWords(lines []string) string {
	if len(lines) == 0 {
		return "without any output"
	}
	said := lines[len(lines)-1]
	for _, line := range lines {
		if strings.Contains(line, "rror") {
			said = line
		}
	}
	return "its last words: " + history.Clip(strings.TrimSpace(said))
}

// open starts a bench. Close it.
func (t *Trial) open(ctx context.Context) (*bench, error) {
	b := &bench{Trial: t, gate: wire.NewGate(nil), client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	b.ctx, b.cancel = context.WithCancel(ctx)
	if err := b.setUp(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// setUp starts the Redis, the wires and the instances.
func (b *bench) setUp(ctx context.Context) (err error) {
	t := b.Trial
	if b.redis, err = t.cluster.StartOpenRedis(ctx, "redis"); err != nil {
		return err
	}
	if b.store, err = wire.NewStore(0, "redis", b.redis.URL); err != nil {
		return err
	}
	if b.ledger, err = wire.NewLedger(ctx, b.store.Redis, t.shelf()); err != nil {
		return err
	}
	b.lookAt(nil) // what an order leaves of the stock may have to be read
	if err = b.put(onShelf); err != nil {
		return err
	}
	b.gate.Look = func(cmd *wire.Command, carryOut func()) {
		if !b.blind.Load() {
			b.looker.Load().Around(cmd, carryOut)
			return
		}
		carryOut()
	}
	b.gate.Begin()
	b.all.Go(func() { b.letThrough(b.ctx) })
	for i := range 2 {
		e := &site{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}, server: new(*b.store.Server)}
		if e.wire, err = wire.New(b.gate, &e.Client, e.server, 0); err != nil {
			return err
		}
		b.sites = append(b.sites, e)
	}
	t.starting.Lock() // two that start at once are slower than one after the other
	defer t.starting.Unlock()
	_, err = cluster.StartAll(ctx, len(b.sites), func(ctx context.Context, i int) (*cluster.Foreign, error) {
		var err error
		b.sites[i].shop, err = t.cluster.StartForeign(ctx, cluster.ForeignOptions{
			Name: "the shop", Argv: t.Argv, RedisAddr: b.sites[i].wire.Host(), Within: t.Within})
		return b.sites[i].shop, err
	})
	if err != nil {
		return err
	}
	return b.put(onShelf) // an instance that starts may have put its own
}

// close ends all of a bench.
func (b *bench) close() {
	var shops sync.WaitGroup
	for _, e := range b.sites {
		if e.shop != nil {
			shops.Go(func() { _ = e.shop.Kill() })
		}
	}
	shops.Wait()
	for _, e := range b.sites {
		if e.wire != nil {
			e.wire.Close()
		}
	}
	b.cancel()
	b.all.Wait()
	for _, o := range b.orders {
		<-o.done
	}
	if b.ledger != nil {
		b.ledger.Close()
	}
	if b.store != nil {
		_ = b.store.Redis.Close()
	}
	if b.redis != nil {
		b.redis.Kill()
	}
}

// lookAt looks at the stock and at these locks from now on.
func (b *bench) lookAt(locks []wire.Lock) { b.looker.Store(wire.NewLooker(b.ledger, locks)) }

// alone does something to the server while no command is under way.
func (b *bench) alone(do func(*redis.Client) error) (err error) {
	b.looker.Load().Alone(func() { err = do(b.store.Redis) })
	return err
}

// put puts so many units on the shelf.
func (b *bench) put(n int64) error {
	fill := strings.NewReplacer("{product}", b.Product, "{n}", strconv.FormatInt(n, 10))
	args := make([]any, len(b.Stock))
	for i, arg := range b.Stock {
		args[i] = fill.Replace(arg)
	}
	return b.alone(func(to *redis.Client) error {
		if err := to.Do(b.ctx, args...).Err(); err != nil {
			return fmt.Errorf("put the stock by %q: %w", strings.Join(b.Stock, " "), err)
		}
		return nil
	})
}

// left reads the stock. It is not below zero: a shop that takes one unit too many, and says so, has sold nothing.
func (b *bench) left() (n int64, err error) {
	shelf := b.shelf()
	err = b.alone(func(to *redis.Client) error {
		if shelf.Field == "" {
			n, err = to.Get(b.ctx, shelf.Key).Int64()
		} else {
			n, err = to.HGet(b.ctx, shelf.Key, shelf.Field).Int64()
		}
		if errors.Is(err, redis.Nil) { // some remove the last unit's key
			return nil
		}
		return err
	})
	return max(n, 0), err
}

// isAsNew reports whether another cell can be played on the bench: an order at each instance sells, and leaves no lock.
func (b *bench) isAsNew() bool {
	b.begin()
	for at, e := range b.sites {
		if e.isDown() {
			return false
		}
		o := b.buy("warm-"+strconv.Itoa(at), at, history.Buy, b.Order, 0)
		select {
		case <-o.done:
		case <-time.After(b.patience()):
			return false
		}
		if o.outcome != history.Sold {
			return false
		}
	}
	b.quiet() // a release may come after the answer
	states := b.looker.Load().Look()
	return states != nil && !slices.ContainsFunc(b.passport.locks, func(l wire.Lock) bool { return l.Held(states[l.Key]) })
}

// begin begins a cell.
func (b *bench) begin() {
	b.begun, b.orders, b.faults, b.extra = time.Now(), nil, nil, nil
	b.gate.Begin()
	writes, _, err := b.ledger.Writes(b.ctx)
	if err == nil {
		b.before = len(writes)
	}
}

// reach lets an instance reach its Redis, or not.
func (b *bench) reach(at int, well bool) {
	b.gate.Change(func() { b.sites[at].server.Down = !well })
	if !well {
		b.sites[at].wire.BreakClients() // what it has sent may still arrive
	}
}
