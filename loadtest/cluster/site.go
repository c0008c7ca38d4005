package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/catalog"
)

// A Plan says which servers one cell needs besides the common Redis: those that its scenario injects faults into (the
// [catalog.Topology]) and those that its rung locks on. [Cluster.StartSite] makes a [Site] of it.
type Plan struct {
	catalog.Topology
	// Instances is the number of instances. Redlock is true if they lock on the independent nodes.
	Instances int
	Redlock   bool
	// ZooKeeper is true if they lock on ZooKeeper.
	ZooKeeper bool
	// SQL is true if they lock in a database, Session if they use a lock of the database session.
	SQL, Session bool
	// TimeoutFactor multiplies the timeouts of the cell's instances (Redis, SQL, Redlock's nodes) if the machine was too
	// slow for the usual ones. 0 and 1 leave them as they are. Leases have to be longer by the same factor.
	TimeoutFactor float64
}

// ScaleTimeout multiplies a timeout by the plan's factor.
func (p Plan) ScaleTimeout(d time.Duration) time.Duration { return scaled(d, p.TimeoutFactor) }

func scaled(d time.Duration, by float64) time.Duration {
	if by <= 1 {
		return d
	}
	return time.Duration(float64(d) * by)
}

// Needs is the error of a plan that cannot be carried out with this backend. It reads "needs …".
type Needs string

func (n Needs) Error() string { return string(n) }

// ErrNeedsRedisServer means that a plan needs replication, which the embedded Redis does not have.
const ErrNeedsRedisServer = Needs("needs redis-server")

// A Site holds the servers of one cell, and the links to them. Faults reach them through scenario.FaultTargets.
type Site struct {
	// Servers are the cell's own lock servers, by name: "locks", or "node 1" to "node 5".
	Servers map[string]*Redis
	// ZooKeeper and Database are the cell's own, nil if it has none.
	ZooKeeper *ZooKeeper
	Database  *Database
	// Pairs are its replicated servers, by name: "locks" or "stock".
	Pairs map[string]*Replicated
	// Links are those of each instance, by the server's name.
	Links []map[string]*Link

	cluster *Cluster
	whole   Backend // the backend as instances without links see it
}

// StartSite starts the servers of the plan, beside the run's backend. If it fails, nothing is left running.
func (c *Cluster) StartSite(ctx context.Context, b *Backend, p Plan) (s *Site, err error) {
	s = &Site{Servers: map[string]*Redis{}, Pairs: map[string]*Replicated{}, cluster: c, whole: *b}
	s.whole.TimeoutFactor = p.TimeoutFactor
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
	if p.Links {
		return s, s.startLinks(p.Instances)
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
		nodes, err := s.cluster.startNodes(ctx, s.whole.start, len(s.whole.Redlock))
		for i, n := range nodes {
			s.Servers[fmt.Sprintf("node %d", i+1)] = n
			s.whole.Redlock = append(s.whole.Redlock[:i:i], n.URL)
		}
		return err
	}
	locks, err := s.cluster.startRedis(ctx, s.whole.start, "lock server")
	if err == nil {
		s.Servers["locks"], s.whole.Locks = locks, locks.URL
	}
	return err
}

func (s *Site) ownZooKeeper(ctx context.Context) error {
	if zooKeeperMissing() != "" {
		return ErrNeedsZooKeeper
	}
	z, err := s.cluster.startZooKeeper(ctx, "zookeeper of a cell")
	s.ZooKeeper = z
	if err == nil {
		s.whole.ZooKeeper = z.URL
	}
	return err
}

// database waits for the shared database if this cell locks on it, and refuses a plan whose faults cannot be injected
// there.
func (s *Site) database(ctx context.Context, p Plan) error {
	switch b := &s.whole; {
	case !p.SQL:
		b.SQL = ""
		return nil
	case p.Session && isFile(b.SQL):
		return ErrNeedsDatabase
	case isFile(b.SQL) && (p.Links || p.OwnLocks):
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
	d, err := s.cluster.newDatabase(s.whole.kind, s.whole.kind.title+" of a cell")
	if err != nil {
		return err
	}
	s.Database, s.whole.SQL = d, d.URL
	return d.create(ctx)
}

func (s *Site) replicated(ctx context.Context, name string) (url string, err error) {
	pair, err := s.cluster.startReplicated(ctx, name)
	if pair != nil {
		s.Pairs[name] = pair
	}
	if err != nil {
		return "", err
	}
	return pair.URL, nil
}

// startLinks starts the links. If the locks are on the stock's own Redis, an instance has two links to it, so that
// either can fail alone.
func (s *Site) startLinks(instances int) error {
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
		links := map[string]*Link{}
		s.Links = append(s.Links, links)
		for name, url := range to {
			if !strings.HasPrefix(url, "redis://") && url != s.whole.ZooKeeper && url != s.whole.SQL {
				return errors.New("faults on the network need a Redis that is reached by redis://, without TLS")
			}
			l, err := newLink(hostPort(url))
			if err != nil {
				return err
			}
			links[name] = l
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

// Backend returns the servers as instance number i reaches them.
func (s *Site) Backend(i int) *Backend {
	b := s.whole
	if i >= len(s.Links) {
		return &b
	}
	links := s.Links[i]
	b.URL = links["stock"].through(b.URL)
	switch l := links["locks"]; {
	case l == nil:
	case b.ZooKeeper != "":
		b.ZooKeeper = l.through(b.ZooKeeper)
	case b.SQL != "":
		b.SQL = l.through(b.SQL)
	default:
		b.Locks = l.through(s.locks())
	}
	b.Redlock = nil
	for n, url := range s.whole.Redlock {
		b.Redlock = append(b.Redlock, links[fmt.Sprintf("node %d", n+1)].through(url))
	}
	return &b
}

// Behind maps the address of each link to the address of the server behind it.
func (s *Site) Behind() map[string]string {
	behind := map[string]string{}
	for _, links := range s.Links {
		for _, l := range links {
			behind[l.proxy.Listen] = l.proxy.Upstream
		}
	}
	return behind
}

// Close ends the links and the servers.
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
	for _, links := range s.Links {
		for _, l := range links {
			all.Go(l.Close)
		}
	}
	all.Wait()
}
