package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"stockapi/loadtest/cluster/family"
)

// An Instance is one running stockapi, or a [Foreign].
type Instance struct {
	Name string
	URL  string
	*child
}

// StartInstance starts a stockapi on a free port, with further flags if any, and waits until it is ready. With faults,
// requests may carry faults.
func (c *Cluster) StartInstance(
	ctx context.Context, name string, b *Backend, faults bool, flags ...string,
) (*Instance, error) {
	args := []string{"--instance", name,
		"--product", c.options.Product, "--stock-ttl", "1h", "--drain-delay", "0s",
		"--log-format", "json", "--exit-with-stdin"}
	if b.Kind == "url" || b.foreignSQL {
		args = append(args, "--setnx-ttl", "1h") // or locks of v1 and v12-naive would stay on this server for ever
	}
	if b.LockReplicas > 0 {
		args = append(args, "--lock-replicas", strconv.Itoa(b.LockReplicas))
	}
	if b.ZooKeeper != "" {
		args = append(args, "--zookeeper", strings.TrimPrefix(b.ZooKeeper, zooKeeperScheme))
	}
	args = append(append(args, b.retries(faults)...), b.timeouts(faults)...)
	if faults {
		args = append(args, "--faults", "--max-renewals", "3")
	}
	args = append(append(args, c.options.Max.args()...), flags...)
	env := append(environment(c.options.Token), "STOCKAPI_ADDR=127.0.0.1:0") // overridden by flags
	env = append(env, b.secrets()...)
	p, url, err := c.startStockapi(ctx, name, env, args)
	for begun := time.Now(); b.slow(err) && ctx.Err() == nil && time.Since(begun) < readyWithin; {
		c.say("%s; starting it again", err)
		p, url, err = c.startStockapi(ctx, name, env, args)
	}
	if err != nil {
		return nil, err
	}
	return &Instance{Name: name, URL: url, child: p}, nil
}

// slow reports whether an instance failed to start because the machine is slow: a Redis of the run did not answer it in
// time. Had that Redis died, the run would have ended. A Redis that is not the run's gets no second try.
func (b *Backend) slow(err error) bool {
	return errors.Is(err, errExited) && b.Kind != "url" &&
		(strings.Contains(err.Error(), "no Redis") || strings.Contains(err.Error(), "i/o timeout"))
}

// secrets returns the settings that may hold a password. The environment does not show in a process list.
func (b *Backend) secrets() []string {
	env := []string{"STOCKAPI_REDIS=" + b.URL, "STOCKAPI_SQL=" + cmp.Or(b.SQL, "none")}
	if b.Locks != "" {
		env = append(env, "STOCKAPI_LOCK_REDIS="+b.Locks)
	}
	if len(b.Redlock) > 0 {
		env = append(env, "STOCKAPI_REDLOCK="+strings.Join(b.Redlock, ","))
	}
	return env
}

func (c *Cluster) startStockapi(ctx context.Context, name string, env, args []string) (*child, string, error) {
	p := &child{name: "stockapi " + name, cmd: exec.Command(c.stockapi, args...)}
	p.cmd.Env = env
	url, err := c.start(ctx, p, readyLine)
	return p, url, err
}

// retries sets the poll interval of an instance: short enough to serve a crowd soon, but long enough for the servers to
// cope with a hundred waiters. The embedded Redis runs some 2,000 scripts a second; beyond that it falls behind, and
// delays the holder's own commands. A failed attempt of v6 costs five scripts. Under faults there is no crowd, and
// leases are short.
func (b *Backend) retries(faults bool) []string {
	switch {
	case faults:
		return []string{"--redlock-retry", "40ms"}
	case strings.HasPrefix(b.Kind, "redis-server"):
		return []string{"--redlock-retry", "250ms"}
	case b.Embedded():
		return []string{"--redlock-retry", "200ms", "--retry", "150ms"}
	default: // the nodes of v6 are embedded
		return []string{"--redlock-retry", "200ms"}
	}
}

// patient is the factor for the timeouts of instances without faults. There a late reply means a slow machine, and
// giving up on it would leave an order with an unknown outcome.
const patient = 10

// timeouts lengthens an instance's timeouts; with faults, only as far as the machine is slow. Leases must grow by the
// same factor, since v6 derives a node's timeout from its lease.
func (b *Backend) timeouts(faults bool) []string {
	factor := b.TimeoutFactor
	if !faults {
		factor = patient
	}
	if factor <= 1 {
		return nil
	}
	var args []string
	for _, usual := range []struct {
		flag string
		time time.Duration
	}{{"--redlock-timeout", 50 * time.Millisecond}, {"--redis-timeout", time.Second}, {"--sql-timeout", time.Second}} {
		args = append(args, usual.flag, scaled(usual.time, factor).String())
	}
	return args
}

// Stop lets the instances finish their work and waits until they have exited.
func Stop(instances []*Instance) {
	var all sync.WaitGroup
	for _, in := range instances {
		if in.child != nil {
			all.Go(in.end)
		}
	}
	all.Wait()
}

// Kill kills the instances at once, even stopped ones.
func Kill(instances []*Instance) {
	var all sync.WaitGroup
	for _, in := range instances {
		all.Go(in.Kill)
	}
	all.Wait()
}

// Pid returns its process id.
func (in *Instance) Pid() int { return in.cmd.Process.Pid }

// Family returns the ids of its processes, none if the system does not list them.
func (in *Instance) Family() (pids []int) {
	its, _ := family.Of(in.cmd.Process.Pid, in.mark)
	for _, p := range its {
		pids = append(pids, p.PID)
	}
	return pids
}

// ExpectExit announces that the instance will exit, so that its exit does not end the run. The returned channel is
// closed when it has exited.
func (in *Instance) ExpectExit() <-chan struct{} {
	in.exitExpected.Store(true)
	return in.Exited()
}

// Exited returns a channel that is closed when the instance has exited, with all its processes.
func (in *Instance) Exited() <-chan struct{} { return in.exited }

// readyLine finds the log line with the address that the instance listens on.
func readyLine(line string) (url string, ready bool) {
	var l struct{ Msg, URL string }
	if json.Unmarshal([]byte(line), &l) != nil || l.Msg != "ready" {
		return "", false
	}
	return l.URL, l.URL != ""
}

// args returns the flags that raise an instance's bounds where requests will exceed the defaults.
func (b Bounds) args() []string {
	var args []string
	for _, m := range []struct {
		flag string
		max  time.Duration
	}{{"--max-wait", b.Wait}, {"--max-ttl", b.TTL}, {"--max-work", b.Work}} {
		if m.max > 0 {
			args = append(args, m.flag, m.max.String())
		}
	}
	return args
}

// environment returns our environment without variables that configure a stockapi, and with the token.
func environment(token string) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "STOCKAPI_") {
			env = append(env, e)
		}
	}
	if token != "" {
		env = append(env, "STOCKAPI_ADMIN_TOKEN="+token)
	}
	return env
}

// InstanceName returns a, b, c and so on for 0, 1, 2.
func InstanceName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("i%d", i+1)
}
