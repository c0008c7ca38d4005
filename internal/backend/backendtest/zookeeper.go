package backendtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"stockapi/internal/backend"
)

// ZooKeeper is the name of the server in STOCKAPI_REQUIRE. zooKeeperJar is its path in Debian's package.
const (
	ZooKeeper    = "zookeeper"
	zooKeeperJar = "/usr/share/java/zookeeper.jar"
)

// RequireZooKeeper skips the test if there is no ZooKeeper, or fails it if STOCKAPI_REQUIRE names one.
func RequireZooKeeper(t testing.TB) {
	t.Helper()
	Long(t)
	_, java := exec.LookPath("java")
	_, jar := os.Stat(zooKeeperJar)
	require(t, ZooKeeper, java == nil && jar == nil, "java on PATH and "+zooKeeperJar+" (Debian's package zookeeper)")
}

// A ZooKeeperServer is a ZooKeeper for one test at a time.
type ZooKeeperServer struct {
	Address string

	dir     string
	process *exec.Cmd
}

// Tick is the tick time of a test's ZooKeeper: the shortest session lasts two ticks.
const Tick = 50 * time.Millisecond

// StartZooKeeper returns an empty ZooKeeper that is the test's own until it ends.
func StartZooKeeper(t testing.TB) *ZooKeeperServer {
	t.Helper()
	RequireZooKeeper(t)
	s := takeIdle()
	if s == nil {
		s = newZooKeeper(t)
	}
	t.Cleanup(func() {
		if !shared.on || t.Failed() || s.process.ProcessState != nil || s.empty() != nil {
			s.end()
			return
		}
		shared.Lock()
		defer shared.Unlock()
		shared.idle = append(shared.idle, s)
	})
	if s.process == nil {
		s.Start(t)
	}
	return s
}

// takeIdle returns a server that has served another test, or nil.
func takeIdle() (s *ZooKeeperServer) {
	shared.Lock()
	defer shared.Unlock()
	if last := len(shared.idle) - 1; last >= 0 {
		s, shared.idle = shared.idle[last], shared.idle[:last]
	}
	return s
}

// newZooKeeper returns a server to be started. Its directory is not the test's, as it may outlive the test.
func newZooKeeper(t testing.TB) *ZooKeeperServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "stockapi-zookeeper-")
	if err != nil {
		t.Fatal(err)
	}
	port := FreePort(t)
	s := &ZooKeeperServer{Address: fmt.Sprintf("127.0.0.1:%d", port), dir: dir}
	config := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\nmaxClientCnxns=0\nmaxSessionTimeout=60000\n", Tick.Milliseconds(), s.dir, port)
	if err := os.WriteFile(s.config(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// empty removes all nodes but ZooKeeper's own.
func (s *ZooKeeperServer) empty() error {
	conn, _, err := zk.Connect([]string{s.Address}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer conn.Close()
	return removeBelow(conn, "/")
}

func removeBelow(conn *zk.Conn, path string) error {
	names, _, err := conn.Children(path)
	for _, name := range names {
		child := strings.TrimSuffix(path, "/") + "/" + name
		if err != nil || child == "/zookeeper" {
			continue
		}
		if err = removeBelow(conn, child); err == nil {
			err = conn.Delete(child, -1)
		}
	}
	return err
}

// end kills the server and removes its directory.
func (s *ZooKeeperServer) end() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

func (s *ZooKeeperServer) config() string { return filepath.Join(s.dir, "zoo.cfg") }

// Start starts the server, also after Kill: it still knows its sessions then.
func (s *ZooKeeperServer) Start(t testing.TB) {
	t.Helper()
	// No fsync and a small heap: a test's data need not survive a power failure, and the machine may be small.
	s.process = exec.CommandContext(context.Background(), "java", "-Xmx64m", "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no", "-cp", zooKeeperJar,
		"org.apache.zookeeper.server.ZooKeeperServerMain", s.config())
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	o := backend.ZooKeeperOptions{Session: 10 * time.Second, Timeout: 2 * time.Second}
	z, err := backend.OpenZooKeeper(s.Address, o)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	eventually(t, "ZooKeeper", func(ctx context.Context) bool { return z.Ping(ctx) == nil })
}

// Kill ends the server at once.
func (s *ZooKeeperServer) Kill() {
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	}
}

// Session opens a connection, with hooks added. It is closed when the test ends.
func (s *ZooKeeperServer) Session(t testing.TB, o backend.ZooKeeperOptions) *backend.ZooKeeper {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	z, err := backend.OpenZooKeeper(s.Address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

// Raw opens a session with the client library alone, as another program does. It is closed when the test ends.
func (s *ZooKeeperServer) Raw(t testing.TB) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{s.Address}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
