package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/catalog"
)

// scaled multiplies a timeout by a factor; 0 and 1 leave it unchanged.
func scaled(d time.Duration, by float64) time.Duration {
	if by <= 1 {
		return d
	}
	return time.Duration(float64(d) * by)
}

// A Site holds the servers that one cell has beside the run's backend, and the links to them: the targets of faults.
type Site struct {
	// Servers are the cell's own lock servers, by name: "locks", or "node 1" to "node 5".
	Servers map[string]Server
	// Ensemble are the servers of its ZooKeeper, if there are several.
	Ensemble []*ZooKeeper
	// Pairs are its replicated servers, by name: "locks", "stock" or "node 3".
	Pairs map[string]*Replicated
	// Links are those of each instance, by the server's name.
	Links []map[string]*Link

	cluster *Cluster
	whole   Backend // the backend as instances without links see it
	oldSide string  // the first instance's URL of the locks, if it has one of its own
}

// StartSite starts what the cell needs: the servers and links that its scenario injects faults into, and those that its
// rung locks on. If it fails, it leaves nothing running. The error is a [Needs] if the cell cannot be run here.
func (c *Cluster) StartSite(ctx context.Context, b *Backend, spec catalog.Spec) (s *Site, err error) {
	if why := c.options.Lacks(spec); why != "" {
		return nil, why
	}
	topology, rung := spec.Scenario.Topology, spec.Rung
	s = &Site{Servers: map[string]Server{}, Pairs: map[string]*Replicated{}, cluster: c, whole: *b}
	s.whole.TimeoutFactor = spec.Patience()
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	if !rung.OnNodes() {
		s.whole.Redlock = nil
	}
	if !rung.OnZooKeeper() {
		s.whole.ZooKeeper = ""
	}
	if !rung.OnSQL() {
		s.whole.SQL, s.whole.foreignSQL = "", false
	} else if err := b.Ready(ctx); err != nil {
		return s, err
	}
	if err := s.ownServers(ctx, topology, rung); err != nil {
		return s, err
	}
	if err := s.replicas(ctx, topology); err != nil {
		return s, err
	}
	if topology.Links {
		return s, s.startLinks(spec.Instances)
	}
	return s, nil
}

// ownServers starts lock servers for this cell alone, if its scenario needs some.
func (s *Site) ownServers(ctx context.Context, t catalog.Topology, rung catalog.Rung) (err error) {
	switch {
	case t.Ensemble && rung.OnZooKeeper():
		s.Ensemble, err = s.cluster.startEnsemble(ctx)
		var hosts []string
		for _, z := range s.Ensemble {
			hosts = append(hosts, hostPort(z.URL))
		}
		s.whole.ZooKeeper = zooKeeperScheme + strings.Join(hosts, ",")
	case !t.OwnLocks:
	case rung.OnZooKeeper():
		var z *ZooKeeper
		if z, err = s.cluster.startZooKeeper(ctx, "zookeeper of a cell"); err == nil {
			s.Servers["locks"], s.whole.ZooKeeper = z, z.URL
		}
	case rung.OnSQL():
		var d *Database
		if d, err = s.cluster.newDatabase(s.whole.kind, s.whole.kind.title+" of a cell"); err == nil {
			s.Servers["locks"], s.whole.SQL = d, d.URL
			err = d.create(ctx)
		}
	case rung.OnNodes():
		var nodes []*Redis
		nodes, err = s.cluster.startNodes(ctx, s.whole.start, len(s.whole.Redlock))
		for i, n := range nodes {
			s.Servers[fmt.Sprintf("node %d", i+1)] = n
			s.whole.Redlock = append(s.whole.Redlock[:i:i], n.URL)
		}
	default:
		var locks *Redis
		if locks, err = s.cluster.startRedis(ctx, s.whole.start, "lock server"); err == nil {
			s.Servers["locks"], s.whole.Locks = locks, locks.URL
		}
	}
	return err
}

// replicas starts the servers that are replicated.
func (s *Site) replicas(ctx context.Context, t catalog.Topology) (err error) {
	switch {
	case t.ReplicatedLocks:
		s.whole.LockReplicas = 1
		of := replication{replicas: 2, oneLink: t.OneLink, minReplicas: t.MinReplicas}
		s.whole.Locks, err = s.replicate(ctx, "locks", nil, of)
		if t.OneLink && err == nil {
			s.oldSide = s.Pairs["locks"].primary.URL
		}
	case t.ReplicatedStock:
		s.whole.Locks = s.whole.URL
		s.whole.URL, err = s.replicate(ctx, "stock", nil, replication{replicas: 1})
	case t.ReplicatedNode:
		s.whole.Redlock[2], err = s.replicate(ctx, "node 3", s.Servers["node 3"].(*Redis), replication{replicas: 1})
	}
	return err
}

// replicate starts the replicas of a primary, and the primary if it is nil, and returns their URL.
func (s *Site) replicate(ctx context.Context, name string, primary *Redis, o replication) (url string, err error) {
	if primary == nil {
		if primary, err = s.cluster.startRedis(ctx, s.whole.start, name+" primary"); err != nil {
			return "", err
		}
	}
	s.Pairs[name], err = s.cluster.replicate(ctx, name, primary, o)
	return s.Pairs[name].URL, err
}

// addresses calls visit for each link, with its name and the URL that it replaces. If the locks are on the stock's own
// Redis, an instance has two links to it, so that either can fail alone.
func (s *Site) addresses(b *Backend, visit func(name string, url *string)) {
	switch {
	case s.Ensemble != nil: // faults act on its servers, not on the links to them
	case b.ZooKeeper != "":
		visit("locks", &b.ZooKeeper)
	case b.SQL != "":
		visit("locks", &b.SQL)
	case len(b.Redlock) == 0:
		b.Locks = cmp.Or(b.Locks, b.URL)
		visit("locks", &b.Locks)
	}
	visit("stock", &b.URL)
	for i := range b.Redlock {
		visit(fmt.Sprintf("node %d", i+1), &b.Redlock[i])
	}
}

// startLinks starts the links.
func (s *Site) startLinks(instances int) (err error) {
	for range instances {
		links := map[string]*Link{}
		s.Links = append(s.Links, links)
		b := s.whole
		s.addresses(&b, func(name string, url *string) {
			if !strings.HasPrefix(*url, "redis://") && url != &b.ZooKeeper && url != &b.SQL {
				err = errors.New("network faults need a Redis without TLS: use a redis:// URL")
			} else if l, failed := NewLink(hostPort(*url), nil); failed != nil {
				err = failed
			} else {
				links[name] = l
			}
		})
	}
	return err
}

// Backend returns the servers as the ith instance reaches them.
func (s *Site) Backend(i int) *Backend {
	b := s.whole
	if s.oldSide != "" && i == 0 {
		b.Locks = s.oldSide
	}
	if i < len(s.Links) {
		b.Redlock = slices.Clone(b.Redlock)
		s.addresses(&b, func(name string, url *string) { *url = s.Links[i][name].through(*url) })
	}
	return &b
}

// Behind maps the address of each link to the address of the server behind it.
func (s *Site) Behind() map[string]string {
	behind := map[string]string{}
	for _, links := range s.Links {
		for _, l := range links {
			behind[l.addr] = l.upstream
		}
	}
	return behind
}

// Close closes the links and stops the servers.
func (s *Site) Close() {
	var all sync.WaitGroup
	for _, pair := range s.Pairs {
		all.Go(pair.Close)
	}
	for _, server := range s.Servers {
		all.Go(func() {
			server.Kill()
			if d, is := server.(*Database); is {
				d.remove()
			}
		})
	}
	for _, z := range s.Ensemble {
		all.Go(z.Kill)
	}
	for _, links := range s.Links {
		for _, l := range links {
			all.Go(l.Close)
		}
	}
	all.Wait()
}
