package rig

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A Testbed starts the servers and instances of rigs, several at a time. A testbed for foreign services has no backend,
// no stockapi and no scripts.
type Testbed struct {
	Backend  history.Backend
	Stockapi string            // the instances' executable
	Scripts  map[string]string // names of its scripts, by digest

	cluster  *cluster.Cluster
	servers  *cluster.Backend
	starting sync.Mutex
}

// Open returns a testbed. If one of its processes dies on its own, the returned context ends with that as its cause.
func Open(ctx context.Context, of cluster.Options) (*Testbed, context.Context, error) {
	if err := of.Check(); err != nil {
		return nil, ctx, err
	}
	c, ctx, err := cluster.New(ctx, of)
	if err != nil {
		return nil, ctx, err
	}
	b := &Testbed{cluster: c}
	if err := b.begin(ctx); err != nil {
		return nil, ctx, errors.Join(err, c.Close())
	}
	return b, ctx, nil
}

func (b *Testbed) begin(ctx context.Context) (err error) {
	if b.Stockapi, err = b.cluster.FindStockapi(ctx); err != nil {
		return err
	}
	if b.Scripts, err = scriptNames(ctx, b.Stockapi); err != nil {
		return err
	}
	if b.servers, err = b.cluster.StartBackend(ctx); err != nil {
		return err
	}
	b.Backend = b.servers.Backend
	return nil
}

// OpenForeign returns a testbed for rigs of foreign services. Its context is like that of [Open].
func OpenForeign(ctx context.Context, say func(string)) (*Testbed, context.Context, error) {
	c, ctx, err := cluster.New(ctx, cluster.Options{Backend: "redis-server", Say: say})
	return &Testbed{cluster: c}, ctx, err
}

// Shell runs a shell command: see [cluster.Cluster.Shell].
func (b *Testbed) Shell(ctx context.Context, line string, lasting bool) (out string, errs []string, err error) {
	return b.cluster.Shell(ctx, line, lasting)
}

// Close stops everything that was started.
func (b *Testbed) Close() error { return b.cluster.Close() }

// A Plan describes a rig.
type Plan struct {
	Gate    *wire.Gate
	Servers []string // the stock's, and those of the locks unless they share it
	Nodes   bool     // the locks are on independent nodes
	Apart   bool     // a server can be down for a single instance
	Ends    int      // the number of instances
	Faults  bool     // instances accept orders with faults

	// Foreign, unless nil, is the service of the instances. It gets the address of a single server. If it has a database,
	// each instance gets its own link to that.
	Foreign *cluster.ForeignOptions
	// Wired, unless nil, is called with the rig once its wires exist, before any instance starts.
	Wired func(*Rig) error

	Held  time.Duration // the instances' timeout for a server: longer than a command can wait at a wire
	Retry time.Duration // the longest between two polls of an order
	Lost  time.Duration // from a lost request or reply to the end of its connection; 0: at once
}

// nodeTime is the instances' timeout for a release at a Redlock node. An acquire's timeout is a share of the lease.
const nodeTime = 2 * time.Second

// A Rig is a set of instances, each with wires of its own to the rig's own servers.
type Rig struct {
	Gate   *wire.Gate
	Stores []*wire.Store
	Ends   []*End

	redises []*cluster.Redis
	foreign bool

	trapsMu sync.Mutex
	traps   []*CommandTrap
}

// An End is an instance at the end of wires of its own.
type End struct {
	schedule.Client
	In       *cluster.Instance
	Wires    []*wire.Wire
	Database *Database // nil if the service has none

	foreign *cluster.Foreign         // the service behind In; nil for a stockapi
	pids    []int                    // its processes; nil: not asked yet
	isStep  func(*wire.Command) bool // matches commands that wait for their turns; nil: none does
}

// Start starts the servers of a rig, then the wires and the instances. Close the rig, even after an error.
func (b *Testbed) Start(ctx context.Context, p Plan) (r *Rig, err error) {
	r = &Rig{Gate: p.Gate, foreign: p.Foreign != nil}
	r.redises, err = cluster.StartAll(ctx, len(p.Servers), func(ctx context.Context, i int) (*cluster.Redis, error) {
		if r.foreign {
			return b.cluster.StartOpenRedis(ctx, p.Servers[i])
		}
		return b.cluster.StartRedis(ctx, b.servers, "redis "+p.Servers[i])
	})
	if err != nil {
		return r, err
	}
	for i, name := range p.Servers {
		one, err := wire.NewStore(i, name, r.redises[i].URL)
		if err != nil {
			return r, err
		}
		r.Stores = append(r.Stores, one)
	}
	for i := range p.Ends {
		if err := r.wire(i, p); err != nil {
			return r, err
		}
	}
	if p.Wired != nil {
		if err := p.Wired(r); err != nil {
			return r, err
		}
	}
	if r.foreign {
		return r, b.startInTurn(ctx, r, p)
	}
	_, err = cluster.StartAll(ctx, p.Ends, func(ctx context.Context, i int) (*cluster.Instance, error) {
		err := b.startEnd(ctx, r, r.Ends[i], p)
		return r.Ends[i].In, err
	})
	return r, err
}

// startInTurn starts foreign instances one at a time, each once the previous one listens: two that create their tables
// at once may fail. Rigs start one at a time too, which is faster.
func (b *Testbed) startInTurn(ctx context.Context, r *Rig, p Plan) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	for _, e := range r.Ends {
		if err := b.startEnd(ctx, r, e, p); err != nil {
			return err
		}
	}
	return nil
}

// wire starts the wires of an instance.
func (r *Rig) wire(number int, p Plan) error {
	e := &End{Client: schedule.Client{Index: number, Name: schedule.ClientName(number)}}
	r.Ends = append(r.Ends, e)
	for _, one := range r.Stores {
		server := one.Server
		if p.Apart {
			server = new(*one.Server) // Go 1.26: a copy
		}
		w, err := wire.New(p.Gate, &e.Client, server, p.Lost)
		if err != nil {
			return err
		}
		e.Wires = append(e.Wires, w)
	}
	if !r.foreign || p.Foreign.Database == "" {
		return nil
	}
	database, err := NewDatabase(p.Foreign.Database)
	e.Database = database
	return err
}

// startEnd starts an instance at its wires.
func (b *Testbed) startEnd(ctx context.Context, r *Rig, e *End, p Plan) (err error) {
	if r.foreign {
		o := *p.Foreign
		if o.RedisAddr = e.Wires[0].Host(); e.Database != nil {
			o.Database = e.Database.Addr()
		}
		if e.foreign, err = b.cluster.StartForeign(ctx, o); err == nil {
			e.In = e.foreign.Instance
		}
		return err
	}
	flags := []string{"--redis-timeout", p.Held.String(), "--redlock-timeout", nodeTime.String(),
		"--retry", p.Retry.String(), "--redlock-retry", p.Retry.String()}
	e.In, err = b.cluster.StartInstance(ctx, e.Name, b.reached(r, e, p), p.Faults, flags...)
	return err
}

// reached returns the servers by the addresses that the instance uses.
func (b *Testbed) reached(r *Rig, e *End, p Plan) *cluster.Backend {
	reached := *b.servers
	reached.SQL, reached.ZooKeeper, reached.Locks, reached.Redlock = "", "", "", nil
	for i, one := range r.Stores {
		user := url.UserPassword("", one.Redis.Options().Password)
		at := (&url.URL{Scheme: "redis", User: user, Host: e.Wires[i].Host()}).String()
		switch {
		case i == 0:
			reached.URL = at
		case p.Nodes:
			reached.Redlock = append(reached.Redlock, at)
		default:
			reached.Locks = at
		}
	}
	return &reached
}

// URLs returns the addresses of the instances.
func (r *Rig) URLs() (urls []string) {
	for _, c := range r.Ends {
		urls = append(urls, c.In.URL)
	}
	return urls
}

// Behind maps the address of each wire to that of its server.
func (r *Rig) Behind() map[string]string {
	behind := map[string]string{}
	for _, c := range r.Ends {
		for _, w := range c.Wires {
			behind[w.Host()] = w.Server.Host
		}
	}
	return behind
}

// Close stops the instances, the wires and the servers.
func (r *Rig) Close() {
	var all sync.WaitGroup
	for _, c := range r.Ends {
		if c.In != nil {
			all.Go(func() { _ = c.kill() })
		}
	}
	all.Wait()
	for _, c := range r.Ends {
		for _, w := range c.Wires {
			all.Go(w.Close)
		}
		if c.Database != nil {
			all.Go(c.Database.Close)
		}
	}
	all.Wait()
	for _, one := range r.Stores {
		_ = one.Redis.Close()
	}
	for _, server := range r.redises {
		all.Go(server.Kill)
	}
	all.Wait()
}
