package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// A Backend is the servers of a run's stock and locks.
type Backend struct {
	history.Backend
	// URL is the Redis of the stock, and of the locks unless Locks names another. Redlock are the independent nodes.
	URL, Locks string
	Redlock    []string
	// LockReplicas is the number of replicas that must confirm a lock of v5.7.
	LockReplicas int
	// ZooKeeper is the URL of the ZooKeeper of v13 and v14, "" if there is none.
	ZooKeeper string
	// SQL is the DSN of the database of v12, "" if there is none. foreignSQL means that the run did not start it.
	SQL        string
	foreignSQL bool

	// TimeoutFactor multiplies the timeouts (Redis, SQL, Redlock's nodes) of instances with faults, on a machine that is
	// too slow for the usual ones; see [catalog.Spec.Patience].
	TimeoutFactor float64

	start starter // starts further Redis servers of its kind

	// kind is set if the run starts the database server; created then waits until it has started.
	kind    *databaseKind
	created func(context.Context) error
}

// Ready waits until the run's database server, if any, has started. StartBackend waits for all other servers.
func (b *Backend) Ready(ctx context.Context) error {
	if b.kind == nil {
		return nil
	}
	return b.created(ctx)
}

// Embedded reports whether the backend is the embedded Redis, whose speed is not that of Redis.
func (b *Backend) Embedded() bool { return b.Kind == "embedded" }

// StartBackend starts or connects to the configured servers, and starts the Redlock nodes. The embedded Redis runs
// inside the stockapi executable. It checks a given database before it starts anything.
func (c *Cluster) StartBackend(ctx context.Context) (*Backend, error) {
	if err := c.reachSQL(ctx); err != nil {
		return nil, err
	}
	kind, start := c.options.Backend, c.embedded
	_, missing := redisProgram()
	switch {
	case kind == "redis-server" && missing != nil:
		return nil, errNoRedisServer
	case kind == "auto" && missing != nil:
		kind = "embedded"
	case kind == "auto", kind == "redis-server":
		kind, start = "redis-server", c.redisServer
	}
	var b *Backend
	var err error
	if strings.Contains(kind, ":") {
		b, err = foreignRedis(ctx, kind)
	} else {
		b, err = c.ownRedis(ctx, kind, start)
	}
	if err != nil {
		return nil, err
	}
	b.start, b.Stockapi = start, c.stockapiFrom
	return b, errors.Join(c.placeSQL(ctx, b), c.startRedlock(ctx, b), c.reachZooKeeper(ctx, b))
}

// Lasting returns the part of the backend that outlives the run, and so needs cleaning up: not a database of the run.
func (b *Backend) Lasting() *Backend {
	lasting := *b
	if b.kind != nil {
		lasting.SQL = ""
	}
	return &lasting
}

func (c *Cluster) ownRedis(ctx context.Context, kind string, start starter) (*Backend, error) {
	r, err := c.startRedis(ctx, start, "redis")
	if err != nil {
		return nil, err
	}
	version, err := ping(ctx, r.URL)
	for begun := time.Now(); err != nil && ctx.Err() == nil && time.Since(begun) < readyWithin; {
		c.say("the %s just started does not answer yet…", kind)
		version, err = ping(ctx, r.URL) // this may take some time; if the process dies, the context ends
	}
	if err != nil {
		return nil, fmt.Errorf("the %s just started does not answer: %w", kind, err)
	}
	text := fmt.Sprintf("redis-server %s, its own, at %s", version, redact(r.URL))
	if kind == "embedded" {
		text = "embedded Redis (miniredis), a process of its own, at " + redact(r.URL)
	}
	return &Backend{Backend: history.Backend{Kind: kind, Text: text}, URL: r.URL}, nil
}

func foreignRedis(ctx context.Context, url string) (*Backend, error) {
	version, err := ping(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("no Redis at %s: %w", redact(url), err)
	}
	text := fmt.Sprintf("Redis %s at %s", version, redact(url))
	return &Backend{Backend: history.Backend{Kind: "url", Text: text}, URL: url}, nil
}

// startRedlock starts the independent nodes, all at once. They are embedded if the run did not start the Redis.
func (c *Cluster) startRedlock(ctx context.Context, b *Backend) error {
	nodes, err := c.startNodes(ctx, b.start, c.options.Redlock)
	for _, n := range nodes {
		b.Redlock = append(b.Redlock, n.URL)
	}
	if b.Kind == "url" && len(nodes) > 0 {
		b.Text += fmt.Sprintf(", %d embedded Redlock nodes", len(nodes))
	}
	return err
}

// startNodes starts n independent nodes, and returns those that became ready.
func (c *Cluster) startNodes(ctx context.Context, start starter, n int) ([]*Redis, error) {
	return StartAll(ctx, n, func(ctx context.Context, i int) (*Redis, error) {
		return c.startRedis(ctx, start, fmt.Sprintf("redlock node %d", i+1))
	})
}
