package backendtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	_, java := exec.LookPath("java")
	_, jar := os.Stat(zooKeeperJar)
	require(t, ZooKeeper, java == nil && jar == nil, "java on PATH and "+zooKeeperJar+" (Debian's package zookeeper)")
}

// A ZooKeeperServer is a ZooKeeper that ends with its test.
type ZooKeeperServer struct {
	Address string

	dir     string
	process *exec.Cmd
}

// Tick is the tick time of a test's ZooKeeper: the shortest session lasts two ticks.
const Tick = 50 * time.Millisecond

// StartZooKeeper starts a ZooKeeper.
func StartZooKeeper(t testing.TB) *ZooKeeperServer {
	t.Helper()
	RequireZooKeeper(t)
	port := FreePort(t)
	s := &ZooKeeperServer{Address: fmt.Sprintf("127.0.0.1:%d", port), dir: t.TempDir()}
	config := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\nmaxClientCnxns=0\nmaxSessionTimeout=60000\n", Tick.Milliseconds(), s.dir, port)
	if err := os.WriteFile(s.config(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
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
