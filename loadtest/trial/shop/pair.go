package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
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
const (
	AtA = iota
	AtB
)

// A Pair is two instances of a shop on a rig, each with a proxy to their own Redis.
type Pair struct {
	Shop    *Shop
	Rig     *rig.Rig
	Context context.Context
	cancel  context.CancelFunc
	Client  *http.Client
	Ledger  *wire.Ledger
	Looker  atomic.Pointer[wire.Looker] // swapped while instances may send commands
	Blind   atomic.Bool                 // the effects of commands are not observed
	Tasks   sync.WaitGroup              // what has to end before the pair is closed

	saw       func(*wire.Sight)
	isRelease func(*wire.Command) bool
}

// IsDown reports whether an instance has exited.
func (p *Pair) IsDown(at int) bool { return wire.IsClosed(p.Rig.Ends[at].In.Exited()) }

// watch observes the effects of each command from now on, and passes it unless a trap catches it.
func (p *Pair) watch(ctx context.Context) (err error) {
	if p.Ledger, err = wire.NewLedger(ctx, p.Rig.Stores[0].Redis, p.Shop.Shelf()); err != nil {
		return err
	}
	p.LookAt(nil) // to read back the stock after an order
	if err = p.Put(p.Shop.UnitsFor(0)); err != nil {
		return err
	}
	p.Rig.Gate.Look = func(cmd *wire.Command, carryOut func()) {
		if !p.Blind.Load() {
			p.Looker.Load().Around(cmd, carryOut)
			return
		}
		carryOut()
	}
	p.Rig.Gate.Begin()
	p.Tasks.Go(func() { p.Rig.LetThrough(p.Context, p.isRelease) })
	return nil
}

// Close stops everything of a pair.
func (p *Pair) Close() {
	p.Rig.Close()
	p.cancel()
	p.Tasks.Wait()
	if p.Ledger != nil {
		p.Ledger.Close()
	}
}

// Buy sends an order, which may take that long.
func (p *Pair) Buy(name string, at int, phase history.Phase, how Request, work, atMost time.Duration) *Order {
	o := p.Shop.NewOrder(name, at, phase)
	o.InDatabase = p.openAtDatabase(at)
	fill := p.Shop.fill(name, work)
	o.headers = p.Shop.headers(fill)
	url := p.Rig.Ends[at].In.URL + fill.Replace(how.Path)
	send := func(ctx context.Context) { o.send(ctx, p.Client, url, how.Method, fill.Replace(how.Body), p.Shop.Sold) }
	if how.IsProgram() {
		line := fill.Replace(p.filled(p.addresses(at).Replace(how.Program), 0))
		send = func(ctx context.Context) { o.run(ctx, p.Shop.Bed.Shell, line, p.Shop.Sold) }
	}
	o.Send(p.Context, func(ctx context.Context) history.Op {
		ctx, cancel := context.WithTimeout(ctx, atMost)
		defer cancel()
		return o.begin(ctx, send)
	})
	p.Tasks.Go(func() { <-o.Done() })
	return o
}

// openAtDatabase opens an order at an instance's link to the database, if there is one, and returns its number.
func (p *Pair) openAtDatabase(at int) (number int) {
	if p.Rig.Ends[at].Database == nil {
		return 0
	}
	return p.Rig.Ends[at].Database.BeginOrder()
}

// LookAt observes the stock and these locks from now on.
func (p *Pair) LookAt(locks []wire.Lock) {
	looker := wire.NewLooker(p.Ledger, locks)
	looker.Saw = p.saw
	p.Looker.Store(looker)
}

// Alone calls do while no command is in flight.
func (p *Pair) Alone(do func(*redis.Client) error) (err error) {
	p.Looker.Load().Alone(func() { err = do(p.Rig.Stores[0].Redis) })
	return err
}

// Put sets the stock to n units, after --set has put what else an order needs: that may remove the stock.
func (p *Pair) Put(n int64) error {
	if p.Shop.IsElsewhere() || !namesRedis(p.Shop.Set) {
		if err := p.runSet(n); err != nil || p.Shop.IsElsewhere() {
			return err
		}
	}
	fill := strings.NewReplacer("{product}", p.Shop.Product, "{n}", strconv.FormatInt(n, 10))
	args := make([]any, len(p.Shop.Stock))
	for i, arg := range p.Shop.Stock {
		args[i] = fill.Replace(arg)
	}
	return p.Alone(func(to *redis.Client) error {
		if namesRedis(p.Shop.Set) {
			if err := p.runSet(n); err != nil {
				return err
			}
		}
		if err := p.AtShelf(to, args...).Err(); err != nil {
			return fmt.Errorf("put the stock with %q: %w", strings.Join(p.Shop.Stock, " "), err)
		}
		return nil
	})
}

// AtShelf executes a command in the Redis database of the stock.
func (p *Pair) AtShelf(to *redis.Client, args ...any) (cmd *redis.Cmd) {
	_, _ = to.TxPipelined(p.Context, func(to redis.Pipeliner) error { // each command has its own error, or that of all
		to.Do(p.Context, "SELECT", p.Shop.DB)
		cmd = to.Do(p.Context, args...)
		to.Do(p.Context, "SELECT", 0)
		return nil
	})
	return cmd
}

// UnitsLeft reads the stock, at least 0: a shop that goes below zero, and refuses the order, has sold nothing.
func (p *Pair) UnitsLeft() (n int64, err error) {
	shelf := p.Shop.Shelf()
	err = p.Alone(func(to *redis.Client) error {
		if shelf.Field == "" {
			n, err = p.AtShelf(to, "GET", shelf.Key).Int64()
		} else {
			n, err = p.AtShelf(to, "HGET", shelf.Key, shelf.Field).Int64()
		}
		if errors.Is(err, redis.Nil) { // some delete the key with the last unit
			return nil
		}
		return err
	})
	return max(n, 0), err
}

// addresses fills in the addresses of an instance, and that of the database itself, in a program that orders.
func (p *Pair) addresses(at int) *strings.Replacer {
	url := p.Rig.Ends[at].In.URL
	host, port, _ := net.SplitHostPort(p.Shop.Database)
	return strings.NewReplacer("{url}", url, "{port}", url[strings.LastIndex(url, ":")+1:], "{db_host}", host,
		"{db_port}", port)
}

// namesRedis reports whether a shell command names the trial's Redis, of which each pair has its own.
func namesRedis(line string) bool {
	return strings.Contains(line, "{redis}") || strings.Contains(line, "{redis_host}") ||
		strings.Contains(line, "{redis_port}")
}

// filled fills in a shell command.
func (p *Pair) filled(line string, n int64) string {
	host, port, _ := net.SplitHostPort(p.Rig.Stores[0].Host)
	return strings.NewReplacer("{product}", p.Shop.Product, "{n}", strconv.FormatInt(n, 10),
		"{redis}", "redis://"+p.Rig.Stores[0].Host, "{redis_host}", host, "{redis_port}", port).Replace(line)
}

// runSet runs --set for n units; without --set it leaves everything as it is.
func (p *Pair) runSet(n int64) error {
	if p.Shop.Set == "" {
		return nil
	}
	switch _, err := p.Shop.shell(p.Context, p.filled(p.Shop.Set, n), false); {
	case errors.Is(err, errSlow):
		return fmt.Errorf("--set: %w: is it slow, or does a transaction of the shop still hold the row?", err)
	case err != nil:
		return fmt.Errorf("--set: %w", err)
	}
	return nil
}

// CountLeft returns how many units are left, nil without --left.
func (p *Pair) CountLeft() (*int64, error) { return p.counted("--left", p.Shop.Left) }

// CountSales returns how many sales the shop has recorded, nil without --sales.
func (p *Pair) CountSales() (*int64, error) { return p.counted("--sales", p.Shop.Sales) }

// counted returns the number that the command of a flag prints, once it has settled; nil without a command.
func (p *Pair) counted(flag, line string) (*int64, error) {
	if line == "" {
		return nil, nil
	}
	n, err := p.Shop.settledNumber(p.Context, p.filled(line, 0))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &n, nil
}

// Open starts the Redis, the proxies and the instances of a pair. It calls saw with each command whose effects are
// known; isRelease reports whether a command releases the lock. Close the pair.
func (s *Shop) Open(ctx context.Context, saw func(*wire.Sight), isRelease func(*wire.Command) bool) (*Pair, error) {
	p := &Pair{Shop: s, saw: saw, isRelease: isRelease, Client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	p.Context, p.cancel = context.WithCancel(ctx)
	r, err := s.Bed.Start(ctx, rig.Plan{Gate: wire.NewGate(nil), Servers: []string{"redis"}, Apart: true, Ends: 2,
		Foreign: &cluster.ForeignOptions{Name: "the shop", Argv: s.Argv, Within: s.Within, Database: s.Database,
			Literal: s.Literal},
		Wired: func(r *rig.Rig) error {
			p.Rig = r
			if err := s.prepareRedis(p); err != nil {
				return err
			}
			return p.watch(ctx)
		}})
	if p.Rig == nil { // there are no proxies; else the gate is open by now
		p.Rig = r
	}
	if err == nil {
		err = p.Put(s.UnitsFor(0)) // an instance may have put its own stock at start
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}
