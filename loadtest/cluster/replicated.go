package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Replicated is a primary with replicas, and a Sentinel that promotes the first replica when the primary is gone.
type Replicated struct {
	// URL is the Sentinel's: clients ask it for the address of the primary.
	URL string

	primary *Redis
	// replicas follow the primary. The first one has the best priority.
	replicas []*Redis
	// links lead from each replica to the primary. If there is one link for all, the Sentinel uses it too.
	links        []*Link
	sentinel     *child
	sentinelAddr string // host:port
	password     string // of all of them
	// delay is how long the primary must be gone before a replica is promoted.
	delay time.Duration
}

// A replication describes how a server is replicated.
type replication struct {
	replicas int
	// oneLink: the replicas, the Sentinel and its clients reach the primary over one link.
	oneLink bool
	// minReplicas: a primary refuses writes while no replica answers it.
	minReplicas bool
}

// masterName is the Sentinel's name for the primary and its replicas.
const masterName = "shop"

// maxLag is min-replicas-max-lag in seconds: how long a silent replica still counts. Replicas answer once a second.
const maxLag = "2"

// replicate starts replicas of the primary and a Sentinel, and waits until the Sentinel could fail over.
func (c *Cluster) replicate(ctx context.Context, what string, primary *Redis, o replication) (*Replicated, error) {
	r := &Replicated{primary: primary, password: c.password}
	// Replication via the disk costs nothing while the data set is empty. Without it a replica counts only after its first
	// report, a second later.
	if err := primary.configure(ctx, "repl-diskless-sync", "no"); err != nil {
		return r, err
	}
	for i := range o.replicas {
		if err := c.startReplica(ctx, fmt.Sprintf("%s replica %d", what, i+1), r, o); err != nil {
			return r, err
		}
	}
	for _, replica := range r.replicas {
		if err := waitUntil(ctx, what+" replica follows its primary", func() (bool, error) {
			return replica.replicationHas(ctx, "master_link_status:up")
		}); err != nil {
			return r, err
		}
	}
	if o.minReplicas {
		if err := errors.Join(primary.configure(ctx, "min-replicas-max-lag", maxLag),
			primary.configure(ctx, "min-replicas-to-write", "1")); err != nil {
			return r, err
		}
	}
	monitored := hostPort(primary.URL)
	if o.oneLink {
		monitored = r.links[0].addr
	}
	if err := c.startSentinel(ctx, r, what, monitored); err != nil {
		return r, err
	}
	r.askOften(ctx)
	return r, waitUntil(ctx, what+" sentinel knows the replicas", func() (bool, error) { return r.known(ctx) })
}

// askOften makes the Sentinel ask the servers for INFO every second instead of every ten. It promotes no replica that
// has been silent for five seconds, and retries only after twice its failover-timeout. Before version 7 there is no
// such setting, so a failover may take that long.
func (r *Replicated) askOften(ctx context.Context) {
	_ = r.askSentinel(func(s *redis.SentinelClient) error {
		return s.Process(ctx, redis.NewStatusCmd(ctx, "sentinel", "debug", "info-period", "1000"))
	})
}

// startReplica starts another replica. The first one gets the best priority, so that it is promoted.
func (c *Cluster) startReplica(ctx context.Context, name string, r *Replicated, o replication) error {
	if len(r.links) == 0 || !o.oneLink {
		link, err := NewLink(hostPort(r.primary.URL), nil)
		if err != nil {
			return err
		}
		r.links = append(r.links, link)
	}
	host, port, _ := strings.Cut(r.links[len(r.links)-1].addr, ":")
	settings := []string{"--replicaof", host + " " + port, "--repl-diskless-sync", "no",
		"--replica-priority", strconv.Itoa(10 * (len(r.replicas) + 1))}
	if o.minReplicas {
		settings = append(settings, "--min-replicas-to-write", "1", "--min-replicas-max-lag", maxLag)
	}
	replica, err := c.startRedis(ctx, c.redisServer, name, settings...)
	if err == nil {
		r.replicas = append(r.replicas, replica)
	}
	return err
}

// known reports whether the Sentinel sees all replicas up.
func (r *Replicated) known(ctx context.Context) (all bool, err error) {
	err = r.askSentinel(func(s *redis.SentinelClient) error {
		replicas, err := s.Replicas(ctx, masterName).Result()
		all = len(replicas) == len(r.replicas) && !slices.ContainsFunc(replicas, func(one map[string]string) bool {
			return one["role-reported"] != "slave" || one["flags"] != "slave"
		})
		return err
	})
	return all, err
}

// startSentinel starts one Sentinel, which watches the primary at that host:port. Its quorum is one.
func (c *Cluster) startSentinel(ctx context.Context, r *Replicated, what, monitored string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, strconv.Itoa(port))
	_, primary, _ := strings.Cut(monitored, ":")
	// Within the failover-timeout a Sentinel also tolerates replicas that follow the primary at another address than its
	// own, as ours do over their links. After that it would redirect them.
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s 127.0.0.1 %[4]s 1\n"+
		"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 30000\n", port, dir, masterName, primary)
	text += "requirepass %[1]s\nsentinel auth-pass " + masterName + " %[1]s\n"
	config, err := c.secret(dir, "sentinel.conf", text) // the Sentinel writes its state into this file
	if err != nil {
		return err
	}
	r.sentinelAddr = fmt.Sprintf("127.0.0.1:%d", port)
	r.URL = fmt.Sprintf("redis://:%[1]s@%[2]s?master_name=%[3]s&password=%[1]s", c.password, r.sentinelAddr, masterName)
	program, err := redisProgram()
	if err != nil {
		return err
	}
	p := &child{name: what + " sentinel", cmd: exec.Command(program, config, "--sentinel")}
	if _, err = c.start(ctx, p, says("+monitor master")); err == nil {
		r.sentinel = p
	}
	return err
}

// PauseReplication waits until the replicas have all writes so far, and drops all later ones. Their connections stay
// open.
func (r *Replicated) PauseReplication(ctx context.Context) error {
	return r.pauseReplication(ctx, r.links)
}

// PauseReplicationToNext is PauseReplication for the replica that will be promoted. The others go on.
func (r *Replicated) PauseReplicationToNext(ctx context.Context) error {
	return r.pauseReplication(ctx, r.links[:1])
}

func (r *Replicated) pauseReplication(ctx context.Context, to []*Link) error {
	err := r.upToDate(ctx)
	for _, link := range to {
		if err == nil {
			err = link.DropResponses()
		}
	}
	return err
}

// upToDate waits until the replicas have all writes so far. A lock whose release they missed would keep orders out.
func (r *Replicated) upToDate(ctx context.Context) error {
	return withClient(r.primary.URL, func(c *redis.Client) error {
		n, err := c.Wait(ctx, len(r.replicas), 2*time.Second).Result()
		if err == nil && n < int64(len(r.replicas)) {
			err = errors.New("a replica lags behind its primary")
		}
		return err
	})
}

// FailOver kills the primary, and waits until the first replica is promoted.
func (r *Replicated) FailOver(ctx context.Context) error {
	r.KillPrimary()
	return r.AwaitPromotion(ctx)
}

// KillPrimary kills the primary. The Sentinel notices that on its own.
func (r *Replicated) KillPrimary() { r.primary.Kill() }

// Partition waits until the replicas have all writes so far, and drops all data to and from the primary on the one
// link. Both sides stay alive.
func (r *Replicated) Partition(ctx context.Context) error {
	if err := r.upToDate(ctx); err != nil {
		return err
	}
	return r.links[0].Partition()
}

// pingPeriod is the longest time between two pings of a Sentinel. A server counts as gone from its last answer on.
const pingPeriod = time.Second

// DelayPromotion makes the Sentinel wait until the primary has been gone for at least d.
func (r *Replicated) DelayPromotion(ctx context.Context, d time.Duration) error {
	r.delay = d
	return r.askSentinel(func(s *redis.SentinelClient) error {
		wait := strconv.FormatInt((d + pingPeriod).Milliseconds(), 10)
		return s.Set(ctx, masterName, "down-after-milliseconds", wait).Err()
	})
}

// overdue bounds how late a promotion may be.
const overdue = 5 * time.Second

// AwaitPromotion waits until the first replica is promoted and the Sentinel announces it as the primary. On a busy
// machine the Sentinel may find no replica that it has heard from lately. It would retry only after twice the
// failover-timeout, so it is told to promote.
func (r *Replicated) AwaitPromotion(ctx context.Context) error {
	promoted, asked := hostPort(r.replicas[0].URL), time.Now()
	promote := func(s *redis.SentinelClient) error { return s.Failover(ctx, masterName).Err() }
	return waitUntil(ctx, "the replica is promoted", func() (announced bool, err error) {
		if time.Since(asked) > r.delay+overdue {
			asked = time.Now()
			_ = r.askSentinel(promote) // an error means that it has begun, or again finds no replica
		}
		if is, err := r.replicas[0].replicationHas(ctx, "role:master"); !is || err != nil {
			return false, err
		}
		err = r.askSentinel(func(s *redis.SentinelClient) error {
			at, err := s.GetMasterAddrByName(ctx, masterName).Result()
			announced = strings.Join(at, ":") == promoted
			return err
		})
		return announced, err
	})
}

// AwaitMinReplicas waits until the old primary counts no replica, and the promoted one counts one.
func (r *Replicated) AwaitMinReplicas(ctx context.Context) error {
	return waitUntil(ctx, "the old primary has no replica, and the new one has one", func() (bool, error) {
		if alone, err := r.primary.replicationHas(ctx, "min_slaves_good_slaves:0"); !alone || err != nil {
			return false, err
		}
		return r.replicas[0].replicationHas(ctx, "min_slaves_good_slaves:1")
	})
}

// Close kills those of the servers that were started.
func (r *Replicated) Close() {
	r.sentinel.Kill()
	for _, server := range append(r.replicas, r.primary) {
		server.Kill()
	}
	for _, link := range r.links {
		link.Close()
	}
}

func (r *Replicated) askSentinel(ask func(*redis.SentinelClient) error) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: r.sentinelAddr, Password: r.password, MaxRetries: -1,
		DialTimeout: 2 * time.Second})
	defer func() { _ = client.Close() }()
	return ask(client)
}

// configure changes a setting of the server.
func (r *Redis) configure(ctx context.Context, setting, value string) error {
	return withClient(r.URL, func(c *redis.Client) error { return c.ConfigSet(ctx, setting, value).Err() })
}

// replicationHas reports whether the server's INFO on replication has that line.
func (r *Redis) replicationHas(ctx context.Context, line string) (is bool, err error) {
	err = withClient(r.URL, func(c *redis.Client) error {
		info, err := c.Info(ctx, "replication").Result()
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
			return errors.Join(fmt.Errorf("timed out after %s waiting until %s", readyWithin, what), err)
		}
		select {
		case <-time.After(30 * time.Millisecond): // each poll may cost connections to several servers
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
