package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"stockapi/loadtest/history"
)

// A Redis is a Redis server of the run. A restart loses its data.
type Redis struct{ server }

// A starter starts one Redis on a port, with further settings if any.
type starter func(ctx context.Context, name string, port int, settings ...string) (*child, error)

// startRedis starts a server that can be killed and restarted at the same address.
func (c *Cluster) startRedis(ctx context.Context, start starter, name string, settings ...string) (*Redis, error) {
	var port int
	var err error
	for range 3 { // a port that is free now may be taken when the server listens
		if port, err = freePort(); err != nil {
			break
		}
		r := &Redis{server{URL: c.url(port), begin: func(ctx context.Context) (*child, error) {
			return start(ctx, name, port, settings...)
		}}}
		if err = r.Restart(ctx); err == nil {
			return r, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// StartRedis starts another server of the backend's kind.
func (c *Cluster) StartRedis(ctx context.Context, b *Backend, name string) (*Redis, error) {
	return c.startRedis(ctx, b.start, name)
}

// StartOpenRedis starts a redis-server without a password, for programs that know only its address.
func (c *Cluster) StartOpenRedis(ctx context.Context, name string) (*Redis, error) {
	if _, err := redisProgram(); err != nil {
		return nil, errors.New("this needs a redis-server or valkey-server on PATH: install one (apt install redis-server, " +
			"brew install redis)")
	}
	r, err := c.startRedis(ctx, c.redisServer, name, "--requirepass", "", "--masterauth", "")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	u.User = nil
	r.URL = u.String()
	return r, nil
}

// Keys counts the keys on the server.
func (r *Redis) Keys(ctx context.Context) (n int64, err error) {
	err = withClient(r.URL, func(c *redis.Client) error {
		n, err = c.DBSize(ctx).Result()
		return err
	})
	return n, err
}

// Queued counts the entries of all lists on the server: the waiters in the queues of locks.
func (r *Redis) Queued(ctx context.Context) (n int64, err error) {
	err = withClient(r.URL, func(c *redis.Client) error {
		lists, _, err := c.ScanType(ctx, 0, "*", 1000, "list").Result()
		for _, key := range lists {
			n += c.LLen(ctx, key).Val()
		}
		return err
	})
	return n, err
}

// Expire expires all keys with a TTL, as if the server's clock had jumped past them.
func (r *Redis) Expire(ctx context.Context) error {
	return withClient(r.URL, func(c *redis.Client) error {
		keys, err := c.Keys(ctx, "*").Result() // there are few, on the lock server of one cell
		for _, key := range keys {
			if err == nil && c.PTTL(ctx, key).Val() > 0 {
				err = c.PExpire(ctx, key, 0).Err()
			}
		}
		return err
	})
}

// redisAccess are the settings for the password of a server and of its primary.
const redisAccess = "requirepass %[1]s\nmasterauth %[1]s\n"

// url returns the URL of a Redis of the run.
func (c *Cluster) url(port int) string {
	return fmt.Sprintf("redis://:%s@127.0.0.1:%d", c.password, port)
}

// redisProgram returns the path of a real Redis: redis-server, or Valkey's equivalent.
func redisProgram() (path string, err error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoRedisServer
}

// redisServer is the starter of real servers. They write nothing to disk and never evict: an evicted lock is a lost
// lock.
func (c *Cluster) redisServer(ctx context.Context, name string, port int, settings ...string) (*child, error) {
	dir, number := filepath.Join(c.dir, strconv.Itoa(port)), strconv.Itoa(port)
	config, err := c.secret(dir, "redis.conf", redisAccess)
	if err != nil {
		return nil, err
	}
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	p := &child{name: name, cmd: exec.Command(program, append([]string{config, "--port", number,
		"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
		"--daemonize", "no"}, settings...)...)}
	_, err = c.start(ctx, p, says("Ready to accept connections"))
	return p, err
}

// embedded is the starter of the Redis that is built into stockapi. It has no settings.
func (c *Cluster) embedded(ctx context.Context, name string, port int, _ ...string) (*child, error) {
	p := &child{name: "embedded " + name, cmd: exec.Command(c.stockapi, "redis",
		"--addr", fmt.Sprintf("127.0.0.1:%d", port), "--exit-with-stdin")}
	p.cmd.Env = append(environment(""), "STOCKAPI_PASSWORD="+c.password)
	_, err := c.start(ctx, p, says("redis://"))
	return p, err
}

// withClient calls do with a client, and closes the client afterwards.
func withClient(rawURL string, do func(*redis.Client) error) error {
	logging.Disable() // its messages about a lost server would mix with our output
	o, err := redis.ParseURL(rawURL)
	if err != nil { // the error would quote the URL
		return fmt.Errorf("%s is not a URL such as redis://127.0.0.1:6379, "+
			"or its query has an option that go-redis does not know", redact(rawURL))
	}
	o.MaxRetries, o.DialTimeout = -1, 2*time.Second
	client := redis.NewClient(o)
	defer client.Close()
	return do(client)
}

// ping waits until the Redis answers, and returns its version.
func ping(ctx context.Context, rawURL string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var info string
	if err := withClient(rawURL, func(client *redis.Client) error {
		info, _ = client.Info(ctx, "server").Result() // some servers have no INFO; then the version is unknown
		return client.Ping(ctx).Err()
	}); err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return history.Plain(strings.TrimSpace(v)), nil
		}
	}
	return "of unknown version", nil
}

// redact returns what may be shown of a URL: its scheme and its server, or its file. The query may hold a password too,
// and an unescaped password may be anywhere: an @ after the host gives it away.
func redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host+u.Path == "" || strings.Contains(u.Path+u.Fragment+u.RawQuery, "@") {
		return "the given URL"
	}
	switch {
	case u.Scheme == "sqlite" || u.Scheme == "unix":
		return u.Scheme + "://" + u.Host + u.Path
	case !hostName.MatchString(u.Host):
		return "the given URL"
	case strings.HasPrefix(u.Scheme, "redis"):
		return u.Scheme + "://" + u.Host + dbNumber.FindString(u.Path)
	default:
		return u.Scheme + "://" + u.Host + dbName.FindString(u.Path)
	}
}

var (
	hostName = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
	dbNumber = regexp.MustCompile(`^/[0-9]{1,4}$`)
	dbName   = regexp.MustCompile(`^/[A-Za-z0-9._-]{1,64}$`)
)
