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

// A Testbed starts the servers and instances of rigs. Several rigs can be up.
type Testbed struct {
	Backend  history.Backend
	Stockapi string            // the executable of the instances
	Scripts  map[string]string // the names of its scripts, by digest

	cluster *cluster.Cluster
	servers *cluster.Backend
}

// Open makes a testbed. When one of its processes dies on its own, the returned context ends with that as its cause.
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

// Close ends all that was started.
func (b *Testbed) Close() error { return b.cluster.Close() }

// A Plan says what a rig has.
type Plan struct {
	Gate    *wire.Gate
	Servers []string // the names of the servers: that of the stock, and those of the locks unless they are there too
	Nodes   bool     // the locks are on independent nodes
	Apart   bool     // a server that is down is so for one instance alone
	Ends    int      // how many instances there are
	Faults  bool     // their orders may have faults

	Held  time.Duration // the instances' timeout for a server: longer than a command can wait at a wire
	Retry time.Duration // the longest between two tries of an order that polls
	Lost  time.Duration // until the connection breaks whose request or reply was lost; 0: it does so at once
}

// nodeTime is the instances' timeout for a Redlock node, which bounds a release. That of an acquire is a share of the
// lease.
const nodeTime = 2 * time.Second

// A Rig is some instances, each with wires of its own to servers that are the rig's own.
type Rig struct {
	Gate   *wire.Gate
	Stores []*wire.Store
	Ends   []*End

	redises []*cluster.Redis
}

// An End is an instance at the end of wires of its own.
type End struct {
	schedule.Client
	In    *cluster.Instance
	Wires []*wire.Wire
}

// Start starts the servers of a rig, then the wires and the instances, and returns it. Close the rig, also after an
// error.
func (b *Testbed) Start(ctx context.Context, p Plan) (r *Rig, err error) {
	r = &Rig{Gate: p.Gate}
	r.redises, err = cluster.StartAll(ctx, len(p.Servers), func(ctx context.Context, i int) (*cluster.Redis, error) {
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
	reached := make([]*cluster.Backend, p.Ends)
	for i := range reached {
		c := &End{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}}
		r.Ends = append(r.Ends, c)
		if reached[i], err = b.wire(r, c, p); err != nil {
			return r, err
		}
	}
	flags := []string{"--redis-timeout", p.Held.String(), "--redlock-timeout", nodeTime.String(),
		"--retry", p.Retry.String(), "--redlock-retry", p.Retry.String()}
	_, err = cluster.StartAll(ctx, p.Ends, func(ctx context.Context, i int) (in *cluster.Instance, err error) {
		c := r.Ends[i]
		c.In, err = b.cluster.StartInstance(ctx, c.Name, reached[i], p.Faults, flags...)
		return c.In, err
	})
	return r, err
}

// wire starts the wires of an instance, and returns the servers as it reaches them.
func (b *Testbed) wire(r *Rig, c *End, p Plan) (*cluster.Backend, error) {
	reached := *b.servers
	reached.SQL, reached.ZooKeeper, reached.Locks, reached.Redlock = "", "", "", nil
	for _, one := range r.Stores {
		server := one.Server
		if p.Apart {
			server = new(*one.Server) // Go 1.26: a copy
		}
		w, err := wire.New(p.Gate, &c.Client, server, p.Lost)
		if err != nil {
			return nil, err
		}
		c.Wires = append(c.Wires, w)
		at := (&url.URL{Scheme: "redis", User: url.UserPassword("", one.Redis.Options().Password), Host: w.Host()}).String()
		switch {
		case one.Index == 0:
			reached.URL = at
		case p.Nodes:
			reached.Redlock = append(reached.Redlock, at)
		default:
			reached.Locks = at
		}
	}
	return &reached, nil
}

// URLs returns where the instances listen.
func (r *Rig) URLs() (urls []string) {
	for _, c := range r.Ends {
		urls = append(urls, c.In.URL)
	}
	return urls
}

// Behind returns the address of the server behind each wire, by that of the wire.
func (r *Rig) Behind() map[string]string {
	behind := map[string]string{}
	for _, c := range r.Ends {
		for _, w := range c.Wires {
			behind[w.Host()] = w.Server.Host
		}
	}
	return behind
}

// Close ends the instances, the wires and the servers.
func (r *Rig) Close() {
	var all sync.WaitGroup
	for _, c := range r.Ends {
		if c.In != nil {
			all.Go(c.In.Kill)
		}
	}
	all.Wait()
	for _, c := range r.Ends {
		for _, w := range c.Wires {
			all.Go(w.Close)
		}
	}
	for _, one := range r.Stores {
		_ = one.Redis.Close()
	}
	all.Wait()
	for _, server := range r.redises {
		all.Go(server.Kill)
	}
	all.Wait()
}
