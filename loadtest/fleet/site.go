package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Plan is what one cell needs beyond the common Redis, since something is to happen to it.
type Plan struct {
	// Instances is how many there will be, and Redlock whether they lock on the independent nodes.
	Instances int
	Redlock   bool
	// ZooKeeper is whether they lock on that.
	ZooKeeper bool
	// SQL is whether they lock in a database, and Session whether by a lock of its server's own.
	SQL, Session bool
	// Wires gives each instance wires of its own to its servers.
	Wires bool
	// OwnLocks gives the cell a lock server, or nodes, of its own. ReplicatedLocks and ReplicatedStock give it a
	// primary and a replica.
	OwnLocks, ReplicatedLocks, ReplicatedStock bool
	// Patience is by what the timeouts of the cell's instances are multiplied, where the machine was too slow for the
	// usual ones: those of Redis, of SQL, and of Redlock's nodes. 0 or 1: they are as usual. Whoever asks for longer
	// leases asks for as much more patience.
	Patience float64
}

// Patient multiplies what an instance is told by the plan's patience.
func (p Plan) Patient(d time.Duration) time.Duration { return patient(d, p.Patience) }

func patient(d time.Duration, by float64) time.Duration {
	if by <= 1 {
		return d
	}
	return time.Duration(float64(d) * by)
}

// Needs is why a plan cannot be carried out on this ground.
type Needs string

func (n Needs) Error() string { return string(n) }

// ErrNeedsRedisServer says that a plan cannot be carried out with the embedded Redis, which knows no replication.
const ErrNeedsRedisServer = Needs("needs redis-server")

// Site is the servers of one cell, and the wires to them.
type Site struct {
	// Servers are the cell's own, by name: "locks", or "node 1" to "node 5".
	Servers map[string]*Redis
	// ZooKeeper and Database are the cell's own, if it has one.
	ZooKeeper *ZooKeeper
	Database  *Database
	// Pairs are its replicated servers, by name: "locks" or "stock".
	Pairs map[string]*Replicated
	// Wires are those of each instance, by the server's name.
	Wires []map[string]*Wire

	fleet *Fleet
	whole Backend // what instances without wires are told
}

// StartSite starts what the plan says, on the ground of the run's backend. On an error nothing is left.
func (f *Fleet) StartSite(ctx context.Context, b *Backend, p Plan) (s *Site, err error) {
	s = &Site{Servers: map[string]*Redis{}, Pairs: map[string]*Replicated{}, fleet: f, whole: *b}
	s.whole.Patience = p.Patience
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	if (p.ReplicatedLocks || p.ReplicatedStock) && b.Kind != "redis-server" {
		return s, ErrNeedsRedisServer
	}
	if !p.Redlock {
		s.whole.Redlock = nil
	}
	if !p.ZooKeeper {
		s.whole.ZooKeeper = ""
	}
	if err := s.database(ctx, p); err != nil {
		return s, err
	}
	if p.OwnLocks {
		if err := s.ownLocks(ctx, p.Redlock); err != nil {
			return s, err
		}
	}
	if p.ReplicatedLocks {
		if s.whole.Locks, err = s.replicated(ctx, "locks"); err != nil {
			return s, err
		}
	}
	if p.ReplicatedStock {
		s.whole.Locks = s.whole.URL
		if s.whole.URL, err = s.replicated(ctx, "stock"); err != nil {
			return s, err
		}
	}
	if p.Wires {
		return s, s.wire(p.Instances)
	}
	return s, nil
}

func (s *Site) ownLocks(ctx context.Context, redlock bool) error {
	switch {
	case s.whole.ZooKeeper != "":
		return s.ownZooKeeper(ctx)
	case s.whole.SQL != "":
		return s.ownDatabase(ctx)
	}
	if redlock {
		nodes, err := s.fleet.startNodes(ctx, s.whole.start, len(s.whole.Redlock))
		for i, n := range nodes {
			s.Servers[fmt.Sprintf("node %d", i+1)] = n
			s.whole.Redlock = append(s.whole.Redlock[:i:i], n.URL)
		}
		return err
	}
	locks, err := s.fleet.startRedis(ctx, s.whole.start, "lock server")
	if err == nil {
		s.Servers["locks"], s.whole.Locks = locks, locks.URL
	}
	return err
}

func (s *Site) ownZooKeeper(ctx context.Context) error {
	if zooKeeperMissing() != "" {
		return ErrNeedsZooKeeper
	}
	z, err := s.fleet.startZooKeeper(ctx, "zookeeper of a cell")
	s.ZooKeeper = z
	if err == nil {
		s.whole.ZooKeeper = z.URL
	}
	return err
}

// database sees to it that what all cells share is there, if this cell locks on it and it can be harmed as it is to be.
func (s *Site) database(ctx context.Context, p Plan) error {
	switch b := &s.whole; {
	case !p.SQL:
		b.SQL = ""
		return nil
	case p.Session && isFile(b.SQL):
		return ErrNeedsDatabase
	case isFile(b.SQL) && (p.Wires || p.OwnLocks):
		return ErrNeedsServer
	case b.kind == nil && !isFile(b.SQL) && p.OwnLocks:
		return ErrNeedsOwnDatabase
	case b.kind == nil:
		return nil
	default:
		return b.created(ctx)
	}
}

func (s *Site) ownDatabase(ctx context.Context) error {
	d, err := s.fleet.newDatabase(s.whole.kind, s.whole.kind.title+" of a cell")
	if err != nil {
		return err
	}
	s.Database, s.whole.SQL = d, d.URL
	return d.create(ctx)
}

func (s *Site) replicated(ctx context.Context, name string) (url string, err error) {
	pair, err := s.fleet.startReplicated(ctx, name)
	if pair != nil {
		s.Pairs[name] = pair
	}
	if err != nil {
		return "", err
	}
	return pair.URL, nil
}

// wire lays the wires. One that locks on the stock's own Redis has two to it: either can be harmed alone.
func (s *Site) wire(instances int) error {
	to := map[string]string{"stock": s.whole.URL}
	for i, url := range s.whole.Redlock {
		to[fmt.Sprintf("node %d", i+1)] = url
	}
	switch {
	case s.whole.ZooKeeper != "":
		to["locks"] = s.whole.ZooKeeper
	case s.whole.SQL != "":
		to["locks"] = s.whole.SQL
	case len(s.whole.Redlock) == 0:
		to["locks"] = s.locks()
	}
	for range instances {
		wires := map[string]*Wire{}
		s.Wires = append(s.Wires, wires)
		for name, url := range to {
			if !strings.HasPrefix(url, "redis://") && url != s.whole.ZooKeeper && url != s.whole.SQL {
				return errors.New("a proxy can only stand before a Redis that is reached by redis://")
			}
			w, err := newWire(hostPort(url))
			if err != nil {
				return err
			}
			wires[name] = w
		}
	}
	return nil
}

func (s *Site) locks() string {
	if s.whole.Locks != "" {
		return s.whole.Locks
	}
	return s.whole.URL
}

// Backend is what instance number i is told of its servers.
func (s *Site) Backend(i int) *Backend {
	b := s.whole
	if i >= len(s.Wires) {
		return &b
	}
	wires := s.Wires[i]
	b.URL = wires["stock"].through(b.URL)
	switch w := wires["locks"]; {
	case w == nil:
	case b.ZooKeeper != "":
		b.ZooKeeper = w.through(b.ZooKeeper)
	case b.SQL != "":
		b.SQL = w.through(b.SQL)
	default:
		b.Locks = w.through(s.locks())
	}
	b.Redlock = nil
	for n, url := range s.whole.Redlock {
		b.Redlock = append(b.Redlock, wires[fmt.Sprintf("node %d", n+1)].through(url))
	}
	return &b
}

// Behind names, for the address of each wire, that of the server behind it.
func (s *Site) Behind() map[string]string {
	behind := map[string]string{}
	for _, wires := range s.Wires {
		for _, w := range wires {
			behind[w.proxy.Listen] = w.proxy.Upstream
		}
	}
	return behind
}

// Close ends the wires and the servers.
func (s *Site) Close() {
	var all sync.WaitGroup
	for _, pair := range s.Pairs {
		all.Go(pair.Close)
	}
	for _, server := range s.Servers {
		all.Go(server.Kill)
	}
	if s.ZooKeeper != nil {
		all.Go(s.ZooKeeper.Kill)
	}
	if s.Database != nil {
		all.Go(s.Database.Remove)
	}
	for _, wires := range s.Wires {
		for _, w := range wires {
			all.Go(w.Close)
		}
	}
	all.Wait()
}
