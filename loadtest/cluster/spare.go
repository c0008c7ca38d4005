package cluster

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// spareTime is the time for which servers that a cell has given back wait for the next cell.
const spareTime = 10 * time.Second

// Spares hold the ZooKeepers that cells have given back, each alone or with the others of its ensemble. The next cell
// gets them, because the start of a Java process costs as much processor time as fifty instances.
//
// What a cell proves does not depend on the cells before it, because the servers are renewed first. Those that were
// killed run again, one server of an ensemble leads the others, and each server has only the nodes that it had when it
// was new. Nobody creates nodes meanwhile: the instances of a cell end before it gives its servers back. Their sessions
// may last longer, but a session without nodes holds no lock. The names of the locks differ from cell to cell too.
type spares struct {
	mu   sync.Mutex
	sets []*spareSet
}

// A spareSet is a ZooKeeper that is alone, or the servers of one ensemble.
type spareSet struct {
	servers []*ZooKeeper
	expiry  *time.Timer
}

// giveBack keeps the servers for the next cell, and ends them if none comes. The cell's instances have ended.
func (c *Cluster) giveBack(servers []*ZooKeeper) {
	if slices.ContainsFunc(servers, func(z *ZooKeeper) bool { return z.nodes == "" }) {
		killAll(servers) // they did not start
		return
	}
	set := &spareSet{servers: servers}
	c.spares.mu.Lock()
	defer c.spares.mu.Unlock()
	c.spares.sets = append(c.spares.sets, set)
	set.expiry = time.AfterFunc(spareTime, func() {
		if c.spares.remove(set) {
			killAll(servers)
		}
	})
}

// takeSpare returns so many spare servers, as good as new, or nil if there are none.
func (c *Cluster) takeSpare(ctx context.Context, size int) []*ZooKeeper {
	for {
		set := c.spares.take(size)
		if set == nil {
			return nil
		}
		err := renew(ctx, set.servers)
		if err == nil {
			return set.servers
		}
		killAll(set.servers)
		c.say("a ZooKeeper is replaced by a new one: %s", err)
	}
}

// take removes a set of that size, and returns it.
func (s *spares) take(size int) *spareSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, set := range s.sets {
		if len(set.servers) == size {
			set.expiry.Stop()
			s.sets = slices.Delete(s.sets, i, i+1)
			return set
		}
	}
	return nil
}

// remove removes the set, and reports whether it was there.
func (s *spares) remove(set *spareSet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.sets, set)
	if i >= 0 {
		s.sets = slices.Delete(s.sets, i, i+1)
	}
	return i >= 0
}

// renewWithin bounds the time that a renewal may take, also on a busy machine.
const renewWithin = 30 * time.Second

// renew makes servers as good as new.
func renew(ctx context.Context, servers []*ZooKeeper) error {
	ctx, cancel := context.WithTimeoutCause(ctx, renewWithin,
		fmt.Errorf("%s was not as good as new within %s", servers[0].name, renewWithin))
	defer cancel()
	dead := slices.DeleteFunc(slices.Clone(servers), func(z *ZooKeeper) bool { return !z.exitsWithin(0) })
	if err := startAll(ctx, dead); err != nil {
		return err
	}
	if err := waitUntil(ctx, "one ZooKeeper leads the others", func() (bool, error) {
		return led(ctx, servers)
	}); err != nil {
		return err
	}
	if err := removeNodes(ctx, servers); err != nil {
		return err
	}
	return waitUntil(ctx, "a ZooKeeper is empty", func() (bool, error) { return empty(ctx, servers) })
}

// led reports whether all servers serve, and one leads the others if there are others.
func led(ctx context.Context, servers []*ZooKeeper) (bool, error) {
	leaders := 0
	for _, z := range servers {
		leads, err := z.Leads(ctx)
		if err != nil {
			return false, err
		}
		if leads {
			leaders++
		}
	}
	return len(servers) == 1 || leaders == 1, nil
}

// empty reports whether no server has more nodes than when it was new.
func empty(ctx context.Context, servers []*ZooKeeper) (bool, error) {
	for _, z := range servers {
		nodes, err1 := z.statistic(ctx, nodeCount)
		locks, err2 := z.Keys(ctx)
		if err := errors.Join(err1, err2); err != nil || nodes != z.nodes || locks > 0 {
			return false, err
		}
	}
	return true, nil
}

// removeNodes removes all nodes but ZooKeeper's own.
func removeNodes(ctx context.Context, servers []*ZooKeeper) error {
	var hosts []string
	for _, z := range servers {
		hosts = append(hosts, hostPort(z.URL))
	}
	conn, _, err := zk.Connect(hosts, cleanerSession, zk.WithLogInfo(false), zk.WithLogger(silence{}))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, conn.Close)() // otherwise an operation waits until there is a server
	if err := removeBelow(conn, "/"); err != nil {
		return fmt.Errorf("cannot remove the nodes of %s: %w", servers[0].name, err)
	}
	return nil
}

// cleanerSession is the session timeout of the client that removes nodes.
const cleanerSession = 10 * time.Second

func removeBelow(conn *zk.Conn, dir string) error {
	names, _, err := conn.Children(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		node := path.Join(dir, name)
		if node == "/zookeeper" {
			continue
		}
		if err := removeBelow(conn, node); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := conn.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) { // it may have gone with its session
			return err
		}
	}
	return nil
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// startAll starts servers, all at once.
func startAll(ctx context.Context, servers []*ZooKeeper) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, z := range servers {
		all.Go(func() error { return z.start(ctx) })
	}
	return all.Wait()
}

func killAll(servers []*ZooKeeper) {
	var all sync.WaitGroup
	for _, z := range servers {
		all.Go(z.Kill)
	}
	all.Wait()
}
