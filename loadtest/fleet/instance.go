package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Instance is one running stockapi.
type Instance struct {
	Name string
	URL  string
	*child
}

// StartInstance starts a stockapi on a port of its choice, with further flags if there are any, and waits until it is
// ready. With faults, requests may ask it for faults.
func (f *Fleet) StartInstance(
	ctx context.Context, stockapi, name string, b *Backend, faults bool, flags ...string,
) (*Instance, error) {
	args := []string{"--addr", "127.0.0.1:0", "--instance", name,
		"--product", f.options.Product, "--stock-ttl", "1h", "--drain-delay", "0s", "--log-format", "json", "--exit-with-stdin"}
	if b.Kind == "url" {
		args = append(args, "--setnx-ttl", "1h") // a lock of v1 stays for ever, and that Redis is not ours
	}
	if b.ZooKeeper != "" {
		args = append(args, "--zookeeper", hostPort(b.ZooKeeper))
	}
	args = append(append(args, b.retries(faults)...), b.timeouts()...)
	if faults {
		args = append(args, "--faults", "--max-renewals", "3")
	}
	args = append(append(args, f.options.Max.args()...), flags...)
	env := append(environment(f.options.Token), b.secrets()...)
	c, url, err := f.startStockapi(ctx, stockapi, name, env, args)
	for begun := time.Now(); b.slow(err) && ctx.Err() == nil && time.Since(begun) < readyWithin; {
		f.say("%s; it is started once more", err)
		c, url, err = f.startStockapi(ctx, stockapi, name, env, args)
	}
	if err != nil {
		return nil, err
	}
	return &Instance{Name: name, URL: url, child: c}, nil
}

// slow reports whether an instance did not start because the machine is slow: a Redis of our own did not answer it in
// time. If that had died, the run would have ended. A Redis that is somebody else's is not waited for.
func (b *Backend) slow(err error) bool {
	return errors.Is(err, errEnded) && b.Kind != "url" && strings.Contains(err.Error(), "no Redis")
}

// secrets are the settings that may hold a password. In the environment no list of processes shows them to others.
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

func (f *Fleet) startStockapi(ctx context.Context, stockapi, name string, env, args []string) (*child, string, error) {
	cmd := exec.Command(stockapi, args...)
	cmd.Env = env
	return f.start(ctx, "stockapi "+name, cmd, readyLine)
}

// retries tells an instance how long to wait between two tries: short, so that a burst is over soon, and long enough for
// the servers to bear a hundred waiters. The embedded Redis runs some 2,000 scripts a second; asked for more it falls
// behind, and the holder's own commands stand in the same line. A failed try of v6 costs five. Where faults are tried
// there is no crowd, and leases are short.
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

// timeouts tells an instance to wait longer for its servers than it does by itself, where the machine is slow. The lease
// has to be as much longer: of a node of v6 it bounds the timeout too.
func (b *Backend) timeouts() []string {
	if b.Patience <= 1 {
		return nil
	}
	var args []string
	for _, usual := range []struct {
		flag string
		time time.Duration
	}{{"--redlock-timeout", 50 * time.Millisecond}, {"--redis-timeout", time.Second}, {"--sql-timeout", time.Second}} {
		args = append(args, usual.flag, patient(usual.time, b.Patience).String())
	}
	return args
}

// Stop lets the instances finish what they are doing and waits until they are gone.
func Stop(instances []*Instance) {
	var all sync.WaitGroup
	for _, in := range instances {
		if in.child != nil {
			all.Go(in.stop)
		}
	}
	all.Wait()
}

// Kill ends the instances at once, whatever they are doing, stopped ones too.
func Kill(instances []*Instance) {
	var all sync.WaitGroup
	for _, in := range instances {
		in.expected.Store(true)
		all.Go(in.kill)
	}
	all.Wait()
}

// Doom says that the instance is going to die, and that this is no news. The channel it returns is closed when it has.
func (in *Instance) Doom() <-chan struct{} {
	in.expected.Store(true)
	return in.gone
}

// Stop makes the process stand still, some moments later.
func (in *Instance) Stop() error { return stop(in.cmd.Process.Pid) }

// Stopped reports whether all of the process stands still, as after SIGSTOP.
func (in *Instance) Stopped() (bool, error) { return stopped(in.cmd.Process.Pid) }

// Continue lets a stopped process go on.
func (in *Instance) Continue() error { return resume(in.cmd.Process.Pid) }

// readyLine finds the log line that says where the instance listens.
func readyLine(line string) (url string, ready bool) {
	var l struct{ Msg, URL string }
	if json.Unmarshal([]byte(line), &l) != nil || l.Msg != "ready" {
		return "", false
	}
	return l.URL, l.URL != ""
}

// args raises the instance's bounds where a request will ask for more than its defaults allow.
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

// environment is ours without what would configure a stockapi behind our back.
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

// InstanceName is a, b, c and so on for 0, 1, 2.
func InstanceName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("i%d", i+1)
}
