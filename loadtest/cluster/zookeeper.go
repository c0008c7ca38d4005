package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// zooKeeperScheme begins the address of one or several servers.
const zooKeeperScheme = "zookeeper://"

// zooKeeperJar is the path at which Debian's package installs the server.
const zooKeeperJar = "/usr/share/java/zookeeper.jar"

// A ZooKeeper is one server of the run, alone or in an ensemble. It restarts with everything that it has acknowledged,
// sessions included.
type ZooKeeper struct {
	server // at zookeeper://host:port
	name   string
	dir    string
	port   int
}

// The main classes of a standalone server, and of one in an ensemble.
const (
	aloneMain  = "org.apache.zookeeper.server.ZooKeeperServerMain"
	memberMain = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
)

// ensembleSize is the number of servers of an ensemble. Two of them are a majority.
const ensembleSize = 3

// zooKeeperMissing returns what this machine lacks for ZooKeeper, or "".
func zooKeeperMissing() string {
	if _, err := exec.LookPath("java"); err != nil {
		return "there is no java on PATH"
	}
	if _, err := os.Stat(zooKeeperJar); err != nil {
		return "there is no " + zooKeeperJar
	}
	return ""
}

// startZooKeeper starts a standalone server.
func (c *Cluster) startZooKeeper(ctx context.Context, name string) (*ZooKeeper, error) {
	z, err := c.newZooKeeper(name, aloneMain)
	if err != nil {
		return nil, err
	}
	if err := z.configure(); err != nil {
		return nil, err
	}
	return z, z.Restart(ctx)
}

// startEnsemble starts the servers of an ensemble, all at once, and waits until they have elected a leader. If it
// fails, some of the servers may run.
func (c *Cluster) startEnsemble(ctx context.Context) (servers []*ZooKeeper, err error) {
	// The limits are counted in ticks of 50 ms. They are generous because the machine may be slow, and no fault relies on
	// them: a dead process is detected at once.
	settings := []string{"initLimit=200", "syncLimit=100"}
	for i := range ensembleSize {
		z, err := c.newZooKeeper(fmt.Sprintf("zookeeper %d of an ensemble", i+1), memberMain)
		if err != nil {
			return nil, err
		}
		follow, err1 := freePort()
		elect, err2 := freePort()
		id := os.WriteFile(filepath.Join(z.dir, "myid"), []byte(strconv.Itoa(i+1)), 0o600)
		if err := errors.Join(err1, err2, id); err != nil {
			return nil, err
		}
		servers = append(servers, z)
		settings = append(settings, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, follow, elect))
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, z := range servers {
		all.Go(func() error {
			if err := z.configure(settings...); err != nil {
				return err
			}
			return z.Restart(ctx)
		})
	}
	return servers, all.Wait()
}

// newZooKeeper chooses a port and creates a directory for a server, but does not start it.
func (c *Cluster) newZooKeeper(name, main string) (*ZooKeeper, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	z := &ZooKeeper{name: name, port: port, dir: filepath.Join(c.dir, "zookeeper-"+strconv.Itoa(port))}
	z.URL = fmt.Sprintf(zooKeeperScheme+"127.0.0.1:%d", port)
	z.begin = func(ctx context.Context) (*child, error) { return c.runZooKeeper(ctx, z, main) }
	return z, os.MkdirAll(z.dir, 0o700)
}

// configure writes the settings of a server, with further lines. Its tick is short, since a session lasts for at least
// two ticks.
func (z *ZooKeeper) configure(further ...string) error {
	settings := fmt.Sprintf("tickTime=50\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\n"+
		"maxClientCnxns=0\nmaxSessionTimeout=3600000\n4lw.commands.whitelist=mntr\n", z.dir, z.port)
	return os.WriteFile(filepath.Join(z.dir, "zoo.cfg"), []byte(settings+strings.Join(further, "\n")), 0o600)
}

// runZooKeeper starts the process and waits until it answers: its output does not report readiness. A server of an
// ensemble answers once a majority is up. The server's data need not survive a power cut, only the end of the process.
// Without UsePerfData a killed process leaves no file behind.
func (c *Cluster) runZooKeeper(ctx context.Context, z *ZooKeeper, main string) (*child, error) {
	p := &child{name: z.name, cmd: exec.Command("java", "-showversion", "-Xmx64m", "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dzookeeper.forceSync=no", "-cp", zooKeeperJar, main,
		filepath.Join(z.dir, "zoo.cfg"))}
	if _, err := c.start(ctx, p, says("")); err != nil {
		return nil, err
	}
	err := waitUntil(ctx, z.name+" answers", func() (bool, error) {
		_, err := z.Keys(ctx)
		return err == nil, err
	})
	if err != nil {
		p.Kill()
	}
	return p, err
}

// Keys counts the ephemeral nodes: the locks, and the waiters in their queues.
func (z *ZooKeeper) Keys(ctx context.Context) (int64, error) {
	n, err := z.statistic(ctx, "zk_ephemerals_count")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(n, 10, 64)
}

// Queued counts the waiters for the only lock: all nodes except the holder's.
func (z *ZooKeeper) Queued(ctx context.Context) (int64, error) {
	n, err := z.Keys(ctx)
	return max(n-1, 0), err
}

// Leads reports whether the server leads its ensemble. It fails if the server does not serve, as without a majority.
func (z *ZooKeeper) Leads(ctx context.Context) (bool, error) {
	state, err := z.statistic(ctx, "zk_server_state")
	return state == "leader", err
}

// statistic returns one of a server's statistics. It fails if the server does not serve, as without a majority.
func (z *ZooKeeper) statistic(ctx context.Context, name string) (string, error) {
	text, err := mntr(ctx, hostPort(z.URL))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+"\t"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s does not report its %s", z.name, name)
}

// mntr asks a server for its statistics.
func mntr(ctx context.Context, address string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(conn, "mntr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

// Expire always fails: no clock that could be set expires a ZooKeeper session.
func (z *ZooKeeper) Expire(context.Context) error {
	return errors.New("a ZooKeeper session does not expire by a clock that can be set")
}

// reachZooKeeper starts a server for v13 and v14, or connects to the configured one. If there is none, cells that need
// it are not run.
func (c *Cluster) reachZooKeeper(ctx context.Context, b *Backend) error {
	if !c.options.ZooKeeper {
		return nil
	}
	if address := c.options.ZooKeeperAddress; address != "" {
		if err := reach(ctx, address); err != nil {
			return fmt.Errorf("no ZooKeeper at %s: %w", address, err)
		}
		b.ZooKeeper = zooKeeperScheme + address
		b.Text += ", ZooKeeper at " + address
		return nil
	}
	if missing := zooKeeperMissing(); missing != "" {
		b.Text += ", no ZooKeeper: " + missing
		return nil
	}
	z, err := c.startZooKeeper(ctx, "zookeeper")
	if err != nil {
		return err
	}
	b.ZooKeeper = z.URL
	b.Text += ", ZooKeeper, its own, at " + hostPort(z.URL)
	return nil
}
