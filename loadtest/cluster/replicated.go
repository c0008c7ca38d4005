package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Replicated is a primary with a replica, and a Sentinel that promotes the replica when the primary is gone.
type Replicated struct {
	// URL is the Sentinel's: clients ask it for the address of the primary.
	URL string

	primary, replica *Redis
	sentinel         *child
	sentinelAddr     string // host:port
	replication      *Link  // the replica follows its primary over this link
}

// masterName is the Sentinel's name for the pair.
const masterName = "shop"

// startReplicated starts all three, and waits until the Sentinel could fail over.
func (c *Cluster) startReplicated(ctx context.Context, what string) (r *Replicated, err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	r = &Replicated{}
	start := c.redisServer(path)
	// Replicate by way of the disk, which costs nothing while the data set is empty: otherwise the replica counts only
	// after its first report, a second later.
	if r.primary, err = c.startRedis(ctx, start, what+" primary", "--repl-diskless-sync", "no"); err != nil {
		return nil, err
	}
	if r.replication, err = newLink(hostPort(r.primary.URL)); err != nil {
		return nil, err
	}
	linkHost, linkPort, _ := strings.Cut(r.replication.proxy.Listen, ":")
	if r.replica, err = c.startRedis(ctx, start, what+" replica", "--replicaof", linkHost+" "+linkPort); err != nil {
		return r, err
	}
	if err = waitUntil(ctx, what+" replica follows its primary", func() (bool, error) {
		return r.replica.infoHas(ctx, "replication", "master_link_status:up")
	}); err != nil {
		return r, err
	}
	if err = c.startSentinel(ctx, path, r, what); err != nil {
		return r, err
	}
	return r, waitUntil(ctx, what+" sentinel knows the replica", func() (bool, error) {
		return r.askSentinel(func(s *redis.SentinelClient) (bool, error) {
			replicas, err := s.Replicas(ctx, masterName).Result()
			return len(replicas) == 1 && replicas[0]["role-reported"] == "slave" && replicas[0]["flags"] == "slave", err
		})
	})
}

// startSentinel starts one Sentinel. Its quorum is one.
func (c *Cluster) startSentinel(ctx context.Context, path string, r *Replicated, what string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, strconv.Itoa(port))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, primary, _ := strings.Cut(hostPort(r.primary.URL), ":")
	config := filepath.Join(dir, "sentinel.conf") // the Sentinel writes its state into this file
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s 127.0.0.1 %[4]s 1\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 5000\n", port, dir, masterName, primary)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	r.sentinelAddr = fmt.Sprintf("127.0.0.1:%d", port)
	r.URL = fmt.Sprintf("redis://%s?master_name=%s", r.sentinelAddr, masterName)
	r.sentinel, _, err = c.start(ctx, what+" sentinel", exec.Command(path, config, "--sentinel"),
		func(line string) (string, bool) {
			return r.URL, strings.Contains(line, "+monitor master")
		})
	return err
}

// PauseReplication waits until the replica has all writes so far, and drops all later ones on their way to it. The
// replica still believes that it is connected.
func (r *Replicated) PauseReplication(ctx context.Context) error {
	if err := withClient(r.primary.URL, func(c *redis.Client) error {
		n, err := c.Wait(ctx, 1, 2*time.Second).Result()
		if err == nil && n < 1 {
			err = errors.New("the replica lags behind its primary")
		}
		return err
	}); err != nil {
		return err
	}
	return r.replication.DropResponses()
}

// FailOver kills the primary, and waits until the replica is promoted and the Sentinel announces it as the primary.
func (r *Replicated) FailOver(ctx context.Context) error {
	r.primary.Kill()
	promoted := hostPort(r.replica.URL)
	return waitUntil(ctx, "the replica is promoted", func() (bool, error) {
		if is, err := r.replica.infoHas(ctx, "replication", "role:master"); !is || err != nil {
			return false, err
		}
		return r.askSentinel(func(s *redis.SentinelClient) (bool, error) {
			at, err := s.GetMasterAddrByName(ctx, masterName).Result()
			return strings.Join(at, ":") == promoted, err
		})
	})
}

// Close ends those of the three that were started.
func (r *Replicated) Close() {
	if r.sentinel != nil {
		r.sentinel.exitExpected.Store(true)
		r.sentinel.kill()
	}
	for _, server := range []*Redis{r.replica, r.primary} {
		if server != nil {
			server.Kill()
		}
	}
	if r.replication != nil {
		r.replication.Close()
	}
}

func (r *Replicated) askSentinel(ask func(*redis.SentinelClient) (bool, error)) (bool, error) {
	client := redis.NewSentinelClient(&redis.Options{Addr: r.sentinelAddr, MaxRetries: -1, DialTimeout: 2 * time.Second})
	defer func() { _ = client.Close() }()
	return ask(client)
}

// infoHas reports whether a section of INFO has that line.
func (r *Redis) infoHas(ctx context.Context, section, line string) (is bool, err error) {
	err = withClient(r.URL, func(c *redis.Client) error {
		info, err := c.Info(ctx, section).Result()
		is = strings.Contains(info, line)
		return err
	})
	return is, err
}

// waitUntil polls until done reports true.
func waitUntil(ctx context.Context, what string, done func() (bool, error)) error {
	for begun := time.Now(); ; {
		yes, err := done()
		if yes {
			return nil
		}
		if time.Since(begun) > readyWithin {
			return errors.Join(fmt.Errorf("waited %s, and this did not happen: %s", readyWithin, what), err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func hostPort(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	if port := ports[u.Scheme]; u.Port() == "" && port != "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	return u.Host
}

// ports are the default ports of DSNs.
var ports = map[string]string{"mysql": "3306", "mariadb": "3306", "postgres": "5432", "postgresql": "5432"}
