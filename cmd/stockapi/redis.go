package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/sale"
	"stockapi/internal/trace"
)

// embedded is the value of --redis for a Redis inside this process.
const embedded = "embedded"

// openRedis warns of an embedded Redis that other machines can reach.
const openRedis = "the network can read and change all that is in the embedded Redis, and run scripts in it"

// redactRedis returns --redis without its password.
func redactRedis(url string) string {
	if url == embedded {
		return embedded
	}
	return backend.Redact(url)
}

// servers holds the clients of an instance's servers.
type servers struct {
	stock, locks redis.UniversalClient
	redlock      []redis.UniversalClient
	clients      []redis.UniversalClient // all Redis clients, each once
	inside       *backend.Embedded       // nil: none
	zookeeper    *backend.ZooKeeper      // nil: none
}

// connect opens the clients of an instance, and starts the embedded Redis if configured. The Redis of the stock and of
// the locks must answer. Redlock nodes need not: Redlock tolerates missing nodes.
func connect(
	ctx context.Context, c *config, m *sale.Metrics, observer trace.Observer, log *slog.Logger,
) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	stockURL := c.Redis
	if stockURL == embedded {
		if s.inside, err = startEmbedded(c.EmbeddedAddr); err != nil {
			return s, err
		}
		stockURL = s.inside.URL()
		if !onLoopback(s.inside.Addr()) {
			log.Warn(openRedis, "redis", stockURL)
		}
		log.Info("embedded Redis started; a second instance joins with --redis "+stockURL, "redis", stockURL)
	}
	open := func(url string) (redis.UniversalClient, error) {
		client, err := backend.Open(url, backend.Options{Timeout: c.RedisTimeout, PoolSize: 64})
		if err == nil {
			node := backend.Address(url)
			client.AddHook(observer.Redis(node))
			if c.SetNXTTL > 0 {
				client.AddHook(backend.SetNXWithTTL(c.SetNXTTL))
			}
			s.clients = append(s.clients, client)
			m.Connections(fmt.Sprintf("%d:%s", len(s.clients), node), client)
		}
		return client, err
	}
	if err = s.openAll(c, stockURL, open); err != nil {
		return s, err
	}
	if c.ZooKeeper != "" {
		if s.zookeeper, err = openZooKeeper(ctx, c, observer, log); err != nil {
			return s, err
		}
	}
	if err = s.reach(ctx, c, stockURL); err != nil {
		return s, err
	}
	warnOfEviction(ctx, s.locks, cmp.Or(c.LockRedis, stockURL), log)
	s.checkNodes(ctx, c, log)
	return s, nil
}

// checkNodes warns of each node of --redlock that cannot serve an order, or evicts locks. An instance starts without
// the former: Redlock tolerates missing nodes.
func (s *servers) checkNodes(ctx context.Context, c *config, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, c.RedisTimeout)
	defer cancel()
	var all sync.WaitGroup
	for i, url := range c.Redlock {
		all.Go(func() {
			if err := tryScript(ctx, s.redlock[i]); err != nil {
				log.Warn("a node of --redlock cannot serve an order: v6 does without it if it can, v9-nodes cannot",
					"node", backend.Address(url), "err", err)
				return
			}
			warnOfEviction(ctx, s.redlock[i], url, log)
		})
	}
	all.Wait()
}

// evictionPolicy finds the policy in an answer to INFO.
var evictionPolicy = regexp.MustCompile(`maxmemory_policy:([a-z-]+)`)

// warnOfEviction logs a warning if a Redis evicts keys, and so locks, when its memory is full. It does not if the Redis
// refuses INFO or reports no policy.
func warnOfEviction(ctx context.Context, rdb redis.UniversalClient, url string, log *slog.Logger) {
	info, _ := rdb.Info(ctx, "memory").Result()
	if policy := evictionPolicy.FindStringSubmatch(info); policy != nil && policy[1] != "noeviction" {
		log.Warn("this Redis evicts locks when its memory is full: run it with maxmemory-policy noeviction",
			"redis", backend.Redact(url), "policy", policy[1])
	}
}

// openAll opens the Redis of the stock, that of the locks, and the nodes of Redlock. With --redis-pipelining the first
// two use one connection each. The nodes keep theirs: a command to a node has to end with its context.
func (s *servers) openAll(
	c *config, stockURL string, open func(url string) (redis.UniversalClient, error),
) (err error) {
	if s.stock, err = open(stockURL); err != nil {
		return fmt.Errorf("--redis: %w", err)
	}
	s.locks = s.stock
	if c.LockRedis != "" && c.LockRedis != c.Redis {
		if s.locks, err = open(c.LockRedis); err != nil {
			return fmt.Errorf("--lock-redis: %w", err)
		}
	}
	for _, url := range c.Redlock {
		node, err := open(url)
		if err != nil {
			return fmt.Errorf("--redlock: %w", err)
		}
		s.redlock = append(s.redlock, node)
	}
	if len(s.redlock) == 0 {
		s.redlock = []redis.UniversalClient{s.locks}
	}
	if !c.RedisPipelining {
		return nil
	}
	for _, client := range []*redis.UniversalClient{&s.stock, &s.locks} {
		if *client, err = backend.Pipelined(*client); err != nil {
			return fmt.Errorf("--redis-pipelining: %w", err)
		}
	}
	return nil
}

// startEmbedded starts the embedded Redis on a fixed port. On a free port, a second instance that is started in the
// same way would sell from a stock of its own.
func startEmbedded(addr string) (*backend.Embedded, error) {
	e, err := backend.StartEmbedded(addr)
	if err != nil {
		return nil, fmt.Errorf("%w; if another instance has it, join it with --redis redis://%s, else use --embedded-addr",
			err, addr)
	}
	return e, nil
}

// reach returns an error, with a remedy, if a server does not answer.
func (s *servers) reach(ctx context.Context, c *config, stockURL string) error {
	if err := backend.Ping(ctx, s.stock); err != nil {
		return fmt.Errorf("no Redis at %s (%w): start one, name another with --redis URL, or use --redis embedded",
			backend.Redact(stockURL), err)
	}
	if err := backend.Ping(ctx, s.locks); err != nil {
		return fmt.Errorf("no Redis for the locks at %s (%w): start one, or name another with --lock-redis URL",
			backend.Redact(c.LockRedis), err)
	}
	return nil
}

func (s *servers) close() {
	for _, client := range s.clients {
		_ = client.Close()
	}
	if s.zookeeper != nil {
		s.zookeeper.Close()
	}
	if s.inside != nil {
		s.inside.Close()
	}
}

// redisConfig holds the settings of stockapi redis.
type redisConfig struct {
	Addr          string `default:"127.0.0.1:6390" placeholder:"HOST:PORT" help:"${listen_help} ${default}."`
	Password      string `placeholder:"TEXT" help:"Password that clients have to send. Default: none."`
	ExitWithStdin bool   `help:"${exit_with_stdin_help}"`
}

// runRedis runs the embedded Redis alone until ctx ends. The first line of its output is its URL, without
// the password.
func runRedis(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var c redisConfig
	const about = "Runs the embedded Redis alone: in memory, for machines that have no redis-server. Prints its URL."
	if ok, err := parse(&c, "stockapi redis", about, args, stdout); !ok {
		return err
	}
	if c.Addr == "" {
		return errNoAddr
	}
	if c.ExitWithStdin {
		ctx = untilEOF(ctx, stdin)
	}
	e, err := backend.StartEmbedded(c.Addr)
	if err != nil {
		return fmt.Errorf("%w; choose another with --addr", err)
	}
	defer e.Close()
	switch {
	case c.Password != "":
		e.Server().RequireAuth(c.Password) // every command asks, also on a connection that is older
	case !onLoopback(e.Addr()):
		fmt.Fprintln(stderr, "stockapi redis:", openRedis)
	}
	fmt.Fprintln(stdout, e.URL())
	<-ctx.Done()
	return nil
}
