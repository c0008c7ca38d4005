package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/wire"
)

// The numbers of the instances.
const atA, atB = 0, 1

// A Pair is two instances of a shop on a rig, each with a proxy to their own Redis.
type Pair struct {
	shop *Shop
	*rig.Rig
	ctx    context.Context
	cancel context.CancelFunc
	client *http.Client
	ledger *wire.Ledger
	looker atomic.Pointer[wire.Looker] // swapped while instances may send commands
	blind  atomic.Bool                 // the effects of commands are not observed
	all    sync.WaitGroup              // what has to end before the pair is closed

	saw       func(*wire.Sight)
	isRelease func(*wire.Command) bool
}

// isDown reports whether an instance has exited.
func (p *Pair) isDown(at int) bool { return isClosed(p.Ends[at].In.Exited()) }

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Open starts the Redis, the proxies and the instances of a pair. It calls saw with each command whose effects are
// known; isRelease reports whether a command releases the lock. Close the pair.
func (s *Shop) Open(ctx context.Context, saw func(*wire.Sight), isRelease func(*wire.Command) bool) (*Pair, error) {
	p := &Pair{shop: s, saw: saw, isRelease: isRelease, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	p.ctx, p.cancel = context.WithCancel(ctx)
	r, err := s.bed.Start(ctx, rig.Plan{Gate: wire.NewGate(nil), Servers: []string{"redis"}, Apart: true, Ends: 2,
		Foreign: &cluster.ForeignOptions{Name: "the shop", Argv: s.Argv, Within: s.Within, Database: s.Database},
		Wired: func(r *rig.Rig) error {
			p.Rig = r
			return p.watch(ctx)
		}})
	if p.Rig == nil { // there are no proxies; else the gate is open by now
		p.Rig = r
	}
	if err == nil {
		err = p.put(s.unitsFor(0)) // an instance may have put its own stock at start
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// watch observes the effects of each command from now on, and passes it unless a trap catches it.
func (p *Pair) watch(ctx context.Context) (err error) {
	if p.ledger, err = wire.NewLedger(ctx, p.Stores[0].Redis, p.shop.shelf()); err != nil {
		return err
	}
	p.lookAt(nil) // to read back the stock after an order
	if err = p.put(p.shop.unitsFor(0)); err != nil {
		return err
	}
	p.Gate.Look = func(cmd *wire.Command, carryOut func()) {
		if !p.blind.Load() {
			p.looker.Load().Around(cmd, carryOut)
			return
		}
		carryOut()
	}
	p.Gate.Begin()
	p.all.Go(func() { p.LetThrough(p.ctx, p.isRelease) })
	return nil
}

// close stops everything of a pair.
func (p *Pair) close() {
	p.Rig.Close()
	p.cancel()
	p.all.Wait()
	if p.ledger != nil {
		p.ledger.Close()
	}
}

// Buy sends an order, which may take that long.
func (p *Pair) Buy(name string, at int, phase history.Phase, how Request, work, atMost time.Duration) *order {
	o := p.shop.newOrder(name, at, phase)
	o.inDatabase = p.openAtDatabase(at)
	fill := p.shop.fill(name, work)
	o.headers = p.shop.headers(fill)
	url := p.Ends[at].In.URL + fill.Replace(how.Path)
	p.all.Add(1)
	o.Send(p.ctx, func(ctx context.Context) history.Op {
		defer p.all.Done()
		ctx, cancel := context.WithTimeout(ctx, atMost)
		defer cancel()
		return o.ask(ctx, p.client, url, how.Method, fill.Replace(how.Body), p.shop.Sold)
	})
	return o
}

// openAtDatabase opens an order at an instance's link to the database, if there is one, and returns its number.
func (p *Pair) openAtDatabase(at int) (number int) {
	if p.Ends[at].Database == nil {
		return 0
	}
	return p.Ends[at].Database.BeginOrder()
}

// lookAt observes the stock and these locks from now on.
func (p *Pair) lookAt(locks []wire.Lock) {
	looker := wire.NewLooker(p.ledger, locks)
	looker.Saw = p.saw
	p.looker.Store(looker)
}

// alone calls do while no command is in flight.
func (p *Pair) alone(do func(*redis.Client) error) (err error) {
	p.looker.Load().Alone(func() { err = do(p.Stores[0].Redis) })
	return err
}

// put sets the stock to n units.
func (p *Pair) put(n int64) error {
	if p.shop.isElsewhere() {
		return p.putElsewhere(n)
	}
	fill := strings.NewReplacer("{product}", p.shop.Product, "{n}", strconv.FormatInt(n, 10))
	args := make([]any, len(p.shop.Stock))
	for i, arg := range p.shop.Stock {
		args[i] = fill.Replace(arg)
	}
	return p.alone(func(to *redis.Client) error {
		if err := p.atShelf(to, args...).Err(); err != nil {
			return fmt.Errorf("put the stock with %q: %w", strings.Join(p.shop.Stock, " "), err)
		}
		return nil
	})
}

// atShelf executes a command in the Redis database of the stock.
func (p *Pair) atShelf(to *redis.Client, args ...any) (cmd *redis.Cmd) {
	_, _ = to.TxPipelined(p.ctx, func(to redis.Pipeliner) error { // each command has its own error, or that of all
		to.Do(p.ctx, "SELECT", p.shop.db)
		cmd = to.Do(p.ctx, args...)
		to.Do(p.ctx, "SELECT", 0)
		return nil
	})
	return cmd
}

// left reads the stock, at least 0: a shop that goes below zero, and refuses the order, has sold nothing.
func (p *Pair) left() (n int64, err error) {
	shelf := p.shop.shelf()
	err = p.alone(func(to *redis.Client) error {
		if shelf.Field == "" {
			n, err = p.atShelf(to, "GET", shelf.Key).Int64()
		} else {
			n, err = p.atShelf(to, "HGET", shelf.Key, shelf.Field).Int64()
		}
		if errors.Is(err, redis.Nil) { // some delete the key with the last unit
			return nil
		}
		return err
	})
	return max(n, 0), err
}
