// Package bench measures how fast the rungs sell over HTTP: a closed loop on two instances, rung by rung, and beside
// them two limits in the same run. It is no proof. That a lock holds is what the scenarios are for.
//
// Reading order: bench.go (what is started), loop.go (one measurement), figure.go (what is told of it).
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

// Settings say what is measured, and how.
type Settings struct {
	// Backend and Stockapi say what is started: see [cluster.Options].
	Backend, Stockapi string
	// Concurrency is the number of orders under way, over both instances.
	Concurrency int
	// For is the time of each measurement, after a warm-up of a quarter of it. Wait bounds how long an order waits for the
	// lock, and so how much longer a measurement can take.
	For, Wait time.Duration
	// Say gets texts for a progress line.
	Say func(string)
}

// instances is the number of instances that sell.
const instances = 2

// stock is the stock of each rung: nobody sells that many.
const stock = 1_000_000_000

// lease is the TTL of the locks.
const lease = 30 * time.Second

// Specs returns the cells of these rungs; without names, of all that need no server but a Redis. A name that is not
// known is an error.
func Specs(rungs []string) ([]catalog.Spec, error) {
	specs, err := catalog.Select([]string{"two-instances"}, rungs, instances, 1)
	if len(rungs) == 0 {
		specs = slices.DeleteFunc(specs, func(s catalog.Spec) bool {
			return s.Rung.Kind != catalog.Redis && s.Rung.Kind != catalog.NoLock
		})
	}
	return specs, err
}

// A bench is a run under way.
type bench struct {
	Settings
	client  *client.Client
	urls    []string
	servers *cluster.Backend
	id      string
}

// Do measures the limits and then the rungs, and gives each figure to show as soon as it is there. begin is called
// before, with what is measured.
func Do(
	ctx context.Context, s Settings, specs []catalog.Spec, begin func(history.Backend), show func(Figure),
) (err error) {
	options := s.options(specs)
	if err := options.Check(); err != nil {
		return err
	}
	c, ctx, err := cluster.New(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	b := &bench{Settings: s, client: client.New(s.Concurrency, ""), id: options.Product}
	b.client.StockTTL = time.Hour
	defer b.client.Close()
	s.Say("starting Redis and stockapi…")
	if err := b.start(ctx, c); err != nil {
		return causeOf(ctx, err)
	}
	begin(b.servers.Backend)
	return causeOf(ctx, b.measure(ctx, specs, show))
}

// causeOf returns why ctx ended, such as a process that died, instead of an error that followed from it.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// redlockNodes is the number of independent nodes that rungs on nodes get.
const redlockNodes = 5

func (s *Settings) options(specs []catalog.Spec) cluster.Options {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	o := cluster.Options{
		Self: []string{self, "guardian"}, Backend: s.Backend, Stockapi: s.Stockapi, SQL: "auto", Say: s.Say,
		Product: "lt-bench-" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	for _, spec := range specs {
		o.ZooKeeper = o.ZooKeeper || spec.Rung.OnZooKeeper()
		o.Database = o.Database || spec.Rung.OnSQL()
		if spec.Rung.OnNodes() {
			o.Redlock = redlockNodes
		}
	}
	return o
}

// start starts the servers and the instances.
func (b *bench) start(ctx context.Context, c *cluster.Cluster) error {
	path, which, err := c.Stockapi(ctx)
	if err != nil {
		return err
	}
	if b.servers, err = c.StartBackend(ctx, path); err != nil {
		return err
	}
	b.servers.Stockapi = which
	if err := b.servers.Ready(ctx); err != nil {
		return err
	}
	for i := range instances {
		in, err := c.StartInstance(ctx, path, cluster.InstanceName(i), b.servers, false)
		if err != nil {
			return err
		}
		b.urls = append(b.urls, in.URL)
	}
	return nil
}

// measure measures one thing after the other.
func (b *bench) measure(ctx context.Context, specs []catalog.Spec, show func(Figure)) error {
	ladder, err := b.client.Ladder(ctx, b.urls[0])
	if err != nil {
		return err
	}
	for _, limit := range []func(context.Context) (Figure, error){b.bareRoute, b.getAndSet} {
		figure, err := limit(ctx)
		if err != nil {
			return err
		}
		show(figure)
	}
	for i, spec := range specs {
		b.Say(fmt.Sprintf("rung %d of %d: %s", i+1, len(specs), spec.Rung.Number))
		figure := Figure{Rung: spec.Rung.Number, Name: spec.Rung.Name}
		if of, known := ladder.Rung(spec.Rung.Number); !known || !of.Available {
			figure.NotRun = "this service cannot serve it here"
			show(figure)
			continue
		}
		if err := b.rung(ctx, spec.Rung, &figure); err != nil {
			return fmt.Errorf("%s: %w", spec.Rung.Number, err)
		}
		show(figure)
	}
	return nil
}

// rung measures a rung, with a product of its own.
func (b *bench) rung(ctx context.Context, r catalog.Rung, figure *Figure) (err error) {
	product := b.id + "-" + r.Name
	if err := b.client.SetStock(ctx, b.urls[0], product, stock); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, b.client.Forget(context.WithoutCancel(ctx), b.urls[0], product))
	}()
	before, counted := b.commands(ctx)
	ops, err := b.loop(ctx, b.Concurrency, func(ctx context.Context, start time.Time, worker, i int) history.Op {
		return b.client.Buy(ctx, start, b.urls[worker%len(b.urls)], client.Order{
			ID:   fmt.Sprintf("%s-%d-%d", product, worker, i),
			Rung: r.Number, Product: product, Quantity: 1, Wait: b.Wait, TTL: lease, Timeout: b.Wait + answerMargin,
			Untraced: true,
		})
	})
	if err != nil {
		return err
	}
	figure.count(ops, b.For)
	if after, ok := b.commands(ctx); ok && counted {
		figure.perSale(after-before, ops)
	}
	return nil
}

// answerMargin is the time beyond all waiting after which an answer counts as lost.
const answerMargin = 10 * time.Second

// commands returns how many commands the instances have sent to Redis.
func (b *bench) commands(ctx context.Context) (sum int64, ok bool) {
	for _, url := range b.urls {
		n, err := b.client.Commands(ctx, url)
		if err != nil {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// bareRoute measures a route that touches no backend: what HTTP, the service's frame and this client allow.
func (b *bench) bareRoute(ctx context.Context) (Figure, error) {
	b.Say("the bare route")
	var failed error
	ops, err := b.loop(ctx, b.Concurrency, func(ctx context.Context, start time.Time, worker, _ int) history.Op {
		return timed(start, func() error { b.client.Warm(ctx, b.urls[worker%len(b.urls)])(); return nil })
	})
	figure := Figure{Name: "bare route", Limit: true}
	figure.count(ops, b.For)
	if figure.Sold == 0 && err == nil {
		failed = errors.New("the bare route does not answer")
	}
	return figure, errors.Join(err, failed)
}

// getAndSet measures one loop that reads and writes the stock on Redis, with no service and no lock: what a lock that
// costs nothing would allow, since a sale waits for the reply to its GET and then for that to its SET.
func (b *bench) getAndSet(ctx context.Context) (figure Figure, err error) {
	b.Say("one loop of GET and SET")
	o, err := redis.ParseURL(b.servers.URL)
	if err != nil {
		return figure, errors.New("the URL of the Redis cannot be used by a loop of this program's own")
	}
	o.MaxRetries = -1
	rdb := redis.NewClient(o)
	defer rdb.Close()
	key := "ProductStock_" + b.id + "-loop"
	if err := rdb.Set(ctx, key, stock, time.Hour).Err(); err != nil {
		return figure, err
	}
	defer func() { err = errors.Join(err, rdb.Del(context.WithoutCancel(ctx), key).Err()) }()
	ops, err := b.loop(ctx, 1, func(ctx context.Context, start time.Time, _, _ int) history.Op {
		return timed(start, func() error {
			left, err := rdb.Get(ctx, key).Int64()
			if err != nil {
				return err
			}
			return rdb.Set(ctx, key, left-1, redis.KeepTTL).Err()
		})
	})
	figure = Figure{Name: "GET and SET", Limit: true}
	figure.count(ops, b.For)
	return figure, err
}
