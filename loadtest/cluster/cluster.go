package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Cluster holds the processes of one run and the directory that they may write to.
type Cluster struct {
	dir      string
	password string // of the servers that it starts, which other users of the machine can reach
	guardian *guardian
	parent   parent
	fail     context.CancelCauseFunc
	options  Options

	stockapi, stockapiFrom string // the executable, and where it is from: see FindStockapi

	tasks sync.WaitGroup // background work, which ends with the context

	mu       sync.Mutex
	children []*child
	lasting  []string // the marks of those whose processes may outlive them
}

// Redises are the values of --backend besides a URL.
var Redises = []string{"auto", "embedded", "redis-server"}

// Options configure a cluster.
type Options struct {
	// Backend is "auto", "embedded", "redis-server" or a Redis URL.
	Backend string
	// Redlock is the number of nodes to start for Redlock, 0 if no rung needs them.
	Redlock int
	// ZooKeeper is true if a rung needs one. ZooKeeperAddress is its address; empty means to start one.
	ZooKeeper        bool
	ZooKeeperAddress string
	// Database is true if a rung needs one. SQL selects it: "auto", "sqlite", "mariadb", "postgres" or a DSN.
	Database bool
	SQL      string
	// Stockapi is the executable to run; empty means to find or build one.
	Stockapi string
	// Product is the product that the instances start with. Its name is unique to this run, so a shop whose stock is on
	// the same Redis is left alone.
	Product string
	// Token is the instances' admin token, if any.
	Token string
	// Max bounds the wait, ttl and work that the instances accept.
	Max Bounds
	// Say is called with texts for a progress line.
	Say func(string)
}

// Bounds are the longest durations that requests will ask for.
type Bounds struct{ Wait, TTL, Work time.Duration }

// New starts the guardian and returns an empty cluster. If a process of the cluster dies on its own, the returned
// context is cancelled with that as its cause.
func New(ctx context.Context, o Options) (*Cluster, context.Context, error) {
	dir, err := os.MkdirTemp("", "loadtest-")
	if err != nil {
		return nil, ctx, err
	}
	g, err := startGuardian()
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, ctx, fmt.Errorf("cannot start the guardian: %w", err)
	}
	g.send("dir %s", dir)
	ctx, fail := context.WithCancelCause(ctx)
	c := &Cluster{dir: dir, password: rand.Text(), guardian: g, parent: newParent(), fail: fail, options: o}
	return c, ctx, nil
}

// secret writes a text with the password into a file that only its owner can read, and returns the path. A command line
// would show the password to every user.
func (c *Cluster) secret(dir, name, format string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	return path, os.WriteFile(path, fmt.Appendf(nil, format, c.password), 0o600)
}

// Close ends all processes that still run and removes what they wrote.
func (c *Cluster) Close() error {
	c.fail(nil)
	c.tasks.Wait()
	c.mu.Lock()
	children, lasting := c.children, c.lasting
	c.children, c.lasting = nil, nil
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range children {
		all.Go(p.Kill)
	}
	all.Wait()
	for _, mark := range lasting {
		killMarked(mark)
	}
	err := os.RemoveAll(c.dir)
	c.guardian.dismiss()
	c.parent.dismiss()
	return err
}

func (c *Cluster) add(p *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children = append(c.children, p)
	if p.lasting {
		c.lasting = append(c.lasting, p.mark)
	}
}

func (c *Cluster) remove(p *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children = slices.DeleteFunc(c.children, func(other *child) bool { return other == p })
}
