package replay

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// Options say on what traces are replayed. The explorer has the same settings.
type Options struct {
	// Self is the command that makes this executable a guardian: see [cluster.Options].
	Self []string
	// Backend and Stockapi say what is started: see [cluster.Options].
	Backend, Stockapi string
	// Stock is the number of units at the start, Nodes that of the Redlock nodes.
	Stock int64
	Nodes int
	// Wait is the longest that an order waits for the lock, on rungs that wait; 0 for the usual one. RetryNodes makes the
	// orders on Redlock nodes wait too.
	Wait       time.Duration
	RetryNodes bool
	// Say gets texts for a progress line; nil if nobody shows them.
	Say func(string)
}

// An Environment starts the servers and the instances of replays. Several can be under way.
type Environment struct {
	Backend history.Backend

	options  Options
	cluster  *cluster.Cluster
	servers  *cluster.Backend
	stockapi string
	scripts  map[string]string
}

// Open makes an environment. When one of its processes dies on its own, the returned context ends with that as its
// cause.
func Open(ctx context.Context, o Options) (*Environment, context.Context, error) {
	of := cluster.Options{Self: o.Self, Backend: o.Backend, Stockapi: o.Stockapi, Product: "lt-replay", Say: o.Say}
	if of.Say == nil {
		of.Say = func(string) {}
	}
	if err := of.Check(); err != nil {
		return nil, ctx, err
	}
	c, ctx, err := cluster.New(ctx, of)
	if err != nil {
		return nil, ctx, err
	}
	e := &Environment{options: o, cluster: c}
	if err := e.begin(ctx); err != nil {
		return nil, ctx, errors.Join(err, c.Close())
	}
	return e, ctx, nil
}

func (e *Environment) begin(ctx context.Context) error {
	path, which, err := e.cluster.Stockapi(ctx)
	if err != nil {
		return err
	}
	if e.scripts, err = scriptNames(ctx, path); err != nil {
		return err
	}
	if e.servers, err = e.cluster.StartBackend(ctx, path); err != nil {
		return err
	}
	e.servers.Stockapi, e.stockapi = which, path
	e.Backend = e.servers.Backend
	return nil
}

// Close ends all that was started.
func (e *Environment) Close() error { return e.cluster.Close() }

// scriptNames asks a stockapi for the names of its scripts, by digest. The explorer orders the commands of a client by
// their names.
func scriptNames(ctx context.Context, path string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, path, "scripts").Output()
	if err != nil {
		return nil, fmt.Errorf("%s scripts: %w; replay needs a stockapi of its own build", path, err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(out)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[digest] = name
	}
	return names, nil
}

// Check returns why a trace cannot be replayed; nil if nothing is known against it.
func Check(t Trace) error {
	rung := catalog.RungOf(t.Rung)
	switch {
	case rung.Number == "":
		return fmt.Errorf("there is no rung %s", t.Rung)
	case rung.Kind != catalog.Redis && !rung.OnNodes() && rung.Kind != catalog.NoLock:
		return fmt.Errorf("%s cannot be replayed: its locks are not in Redis", t.Rung)
	case t.Virtual() != "":
		return fmt.Errorf("%s is %s", t, t.Virtual())
	}
	return nil
}

// Play replays a trace, with all times so many times as long as usual. It calls show after each step. An error means
// that the trace could not be replayed. What it breaks is a finding, not an error.
func (e *Environment) Play(ctx context.Context, t Trace, longer float64, show func(Line)) (*history.Cell, error) {
	if err := Check(t); err != nil {
		return nil, err
	}
	s := &stage{Environment: e, trace: t, rung: catalog.RungOf(t.Rung), times: usual}
	if e.options.Wait > 0 {
		s.times.wait = e.options.Wait
	}
	s.times = s.times.longer(longer)
	defer s.close()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s.play(ctx, longer, show)
}

// A stage holds the servers, wires and instances of one replay.
type stage struct {
	*Environment
	trace Trace
	rung  catalog.Rung
	times times

	gate      *gate
	redises   []*cluster.Redis
	stores    []*store // the first keeps the stock, the others the locks
	clients   []*actor
	instances []*cluster.Instance
	client    *client.Client
}

// start starts the servers, then the wires and the instances. The gate is open meanwhile.
func (s *stage) start(ctx context.Context) error {
	s.gate, s.client = newGate(s.scripts), client.New(4, "")
	names := []string{"stock", "lock"}
	if s.rung.OnNodes() {
		names = append(names[:1], []string{"1", "2", "3", "4", "5"}[:s.options.Nodes]...)
	}
	s.redises = make([]*cluster.Redis, len(names))
	all, starting := errgroup.WithContext(ctx)
	for i, name := range names {
		all.Go(func() (err error) {
			s.redises[i], err = s.cluster.StartRedis(starting, s.servers, "server "+name+" of a replay")
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for i, name := range names {
		one, err := newStore(i, name, s.redises[i].URL)
		if err != nil {
			return err
		}
		s.stores = append(s.stores, one)
	}
	return s.startInstances(ctx)
}

func (s *stage) startInstances(ctx context.Context) error {
	s.instances = make([]*cluster.Instance, s.trace.clients())
	all, starting := errgroup.WithContext(ctx)
	for i := range s.instances {
		c := &actor{sender: sender{index: i, name: clientNames[i : i+1]}, done: make(chan struct{})}
		s.clients = append(s.clients, c)
		reached, err := s.wire(c)
		if err != nil {
			return errors.Join(err, all.Wait())
		}
		all.Go(func() (err error) {
			s.instances[i], err = s.cluster.StartInstance(starting, s.stockapi, c.name, reached, false, s.flags()...)
			return err
		})
	}
	return all.Wait()
}

// flags are those of the instances. A command that waits at a wire must not time out.
func (s *stage) flags() []string {
	return []string{"--redis-timeout", held.String(), "--redlock-timeout", nodeTime.String(),
		"--retry", s.times.retry.String(), "--redlock-retry", s.times.retry.String()}
}

// wire starts the wires of an instance, and returns the servers as it reaches them.
func (s *stage) wire(c *actor) (*cluster.Backend, error) {
	reached := *s.servers
	reached.SQL, reached.ZooKeeper, reached.Redlock = "", "", nil
	for _, one := range s.stores {
		w, err := newWire(s.gate, &c.sender, one.server, s.times.lost)
		if err != nil {
			return nil, err
		}
		c.wires = append(c.wires, w)
		at := (&url.URL{Scheme: "redis", Host: w.host()}).String()
		switch {
		case one.index == 0:
			reached.URL = at
		case s.rung.OnNodes():
			reached.Redlock = append(reached.Redlock, at)
		default:
			reached.Locks = at
		}
	}
	return &reached, nil
}

// close ends the instances, the wires and the servers.
func (s *stage) close() {
	s.client.Close()
	for i, in := range s.instances {
		if in != nil {
			cluster.Kill(s.instances[i : i+1])
		}
	}
	var all sync.WaitGroup
	for _, c := range s.clients {
		for _, w := range c.wires {
			all.Go(w.Close)
		}
	}
	all.Wait()
	for _, one := range s.stores {
		_ = one.rdb.Close()
	}
	for _, r := range s.redises {
		if r != nil {
			all.Go(r.Kill)
		}
	}
	all.Wait()
}

// play plays the trace, from filling the shelf to the verdicts.
func (s *stage) play(ctx context.Context, longer float64, show func(Line)) (*history.Cell, error) {
	cell := &history.Cell{Scenario: history.ReplayOf(s.trace.String()), Rung: s.rung.Number, Name: s.rung.Name, Repetition: 1, Product: product,
		Initial: s.options.Stock, TTL: s.times.lease, Limit: s.times.within, Start: time.Now()}
	if longer > 1 {
		cell.Longer = longer
	}
	wait, err := s.wait(ctx)
	if err != nil {
		return nil, err
	}
	behind := map[string]string{}
	runner := &scenario.Runner{Client: s.client, Targets: &scenario.FaultTargets{Behind: behind},
		Load: history.Load{Stock: cell.Initial, Wait: wait, TTL: s.times.lease}}
	var urls []string
	for i, c := range s.clients {
		in := s.instances[i]
		urls = append(urls, in.URL)
		c.pid, c.kill = in.Pid(), in.Kill
		c.buy = func(ctx context.Context) history.Op { return runner.Send(ctx, cell, i, c.name, held) }
		for _, w := range c.wires {
			behind[w.host()] = w.server.host
		}
	}
	p := &player{trace: s.trace, times: s.times, gate: s.gate, clients: s.clients, stock: s.stores[0],
		nodes: s.stores[1:], start: cell.Start, show: show,
		fault: func(f history.Fault) { cell.Faults = append(cell.Faults, f) }}
	err = runner.Play(ctx, cell, urls, func(ctx context.Context) ([]int, error) {
		s.gate.close(p.inOrder()...)
		if err := p.play(ctx); err != nil {
			return nil, err
		}
		return p.finish(ctx)
	}, func() []history.Op {
		s.gate.openAll()
		return p.end()
	})
	if err == nil && cell.NotRun != "" {
		err = errors.New(cell.NotRun)
	}
	return cell, err
}

// wait returns how long an order waits for the lock.
func (s *stage) wait(ctx context.Context) (time.Duration, error) {
	if s.rung.OnNodes() && !s.options.RetryNodes {
		return 0, nil
	}
	ladder, err := s.client.Ladder(ctx, s.instances[0].URL)
	if err != nil {
		return 0, err
	}
	rung, known := ladder.Rung(s.rung.Number)
	if !known {
		return 0, fmt.Errorf("this stockapi does not know %s", s.rung.Number)
	}
	wait, err := time.ParseDuration(rung.Wait)
	return min(wait, s.times.wait), err
}
