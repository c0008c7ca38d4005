// Package latchtest starts Redis servers for tests of those who meet there: an embedded one everywhere, and
// redis-server where it is on PATH.
package latchtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Each runs a test once on each kind of server that this machine has. STOCKAPI_REQUIRE=redis-server makes a missing
// redis-server a failure.
func Each(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, Embedded(t)) })
	t.Run("redis-server", func(t *testing.T) {
		if _, err := exec.LookPath("redis-server"); err != nil {
			if strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "redis-server") {
				t.Fatal("there is no redis-server on PATH")
			}
			t.Skip("needs redis-server on PATH")
		}
		test(t, server(t))
	})
}

// Embedded starts an embedded Redis, which ends with the test.
func Embedded(t testing.TB) (url string) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return "redis://" + m.Addr()
}

// server starts a redis-server that keeps nothing on disk.
func server(t testing.TB) (url string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir, password := t.TempDir(), rand.Text() // other users of the machine reach the server too
	config := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(config, []byte("requirepass "+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "redis-server", config, "--port", fmt.Sprint(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url = fmt.Sprintf("redis://:%s@127.0.0.1:%d", password, port)
	client := Client(t, url)
	for deadline := time.Now().Add(10 * time.Second); client.Ping(context.Background()).Err() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return url
}

// Client returns a client, which is closed when the test ends.
func Client(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}
