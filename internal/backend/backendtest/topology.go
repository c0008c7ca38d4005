package backendtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// StartCluster starts a Redis Cluster of one node, which holds all slots, and returns its URL.
func StartCluster(t testing.TB) string {
	t.Helper()
	Require(t)
	dir, port := t.TempDir(), freePort(t)
	run(t, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", dir, "--cluster-enabled", "yes",
		"--cluster-port", fmt.Sprint(freePort(t)))
	node := Client(t, &Server{URL: fmt.Sprintf("redis://127.0.0.1:%d", port)})
	eventually(t, "a cluster", func(ctx context.Context) bool {
		_ = node.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err() // refused when they are its own already
		return node.Do(ctx, "SET", "probe", 1).Err() == nil
	})
	return fmt.Sprintf("redis://127.0.0.1:%d?cluster=true", port)
}

// StartSentinel starts a redis-server and a Sentinel that watches it, and returns the URL that asks the Sentinel.
func StartSentinel(t testing.TB) string {
	t.Helper()
	Require(t)
	primary, port := StartRedis(t), freePort(t)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor shop %s 1\n", port, hostPort(primary.URL))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, conf, "--sentinel")
	sentinel := Client(t, &Server{URL: fmt.Sprintf("redis://127.0.0.1:%d", port)})
	eventually(t, "a Sentinel", func(ctx context.Context) bool {
		return sentinel.Do(ctx, "SENTINEL", "get-master-addr-by-name", "shop").Err() == nil
	})
	return fmt.Sprintf("redis://127.0.0.1:%d?master_name=shop", port)
}

// run starts a redis-server with these arguments; it ends with the test.
func run(t testing.TB, args ...string) {
	t.Helper()
	process := exec.CommandContext(context.Background(), RedisServer, args...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
}

// hostPort returns "host port" of a URL, as Sentinel wants it.
func hostPort(url string) string {
	var port int
	_, _ = fmt.Sscanf(url, "redis://127.0.0.1:%d", &port)
	return fmt.Sprintf("127.0.0.1 %d", port)
}

// eventually waits until something is there.
func eventually(t testing.TB, what string, there func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !there(ctx) {
		if ctx.Err() != nil {
			t.Fatal(what + " did not start")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
