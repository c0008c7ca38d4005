// Package backendtest starts servers for tests: the embedded Redis everywhere, and redis-server, ZooKeeper, MariaDB and
// PostgreSQL if they are installed. Every test gets servers of its own.
package backendtest

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
)

// A Server is a Redis that ends with its test.
type Server struct {
	URL  string
	Kind string // Embedded or RedisServer

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // nil: by the network
}

// The kinds of server.
const (
	Embedded    = "embedded"
	RedisServer = "redis-server"
)

// Each runs a test on each kind of server that this machine has. With STOCKAPI_REQUIRE=redis-server a missing
// redis-server fails the test.
func Each(t *testing.T, test func(t *testing.T, start func(testing.TB) *Server)) {
	t.Helper()
	t.Run(Embedded, func(t *testing.T) { test(t, StartEmbedded) })
	t.Run(RedisServer, func(t *testing.T) {
		Require(t)
		test(t, StartRedis)
	})
}

// Require skips the test if there is no redis-server, or fails it if STOCKAPI_REQUIRE names one.
func Require(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath(RedisServer)
	require(t, RedisServer, err == nil, "redis-server on PATH")
}

func require(t testing.TB, name string, there bool, needs string) {
	t.Helper()
	switch {
	case there:
	case slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), name):
		t.Fatalf("this needs %s, and STOCKAPI_REQUIRE asks for it", needs)
	default:
		t.Skipf("needs %s", needs)
	}
}

// Long skips a test that takes longer than a second, or a server that takes as long to start, under go test -short.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes longer than a second")
	}
}

// AtOnce has so many tests run at a time, or with the race detector others: tests that wait need no processor each, but
// those that compute do. The flag -parallel still counts, if TestMain calls this before it parses flags.
func AtOnce(tests, withRace int) {
	if RaceDetected {
		tests = withRace
	}
	_ = flag.Set("test.parallel", strconv.Itoa(tests))
}

// StartEmbedded starts an embedded Redis.
func StartEmbedded(t testing.TB) *Server {
	t.Helper()
	e, err := backend.StartEmbedded("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &Server{URL: e.URL(), Kind: Embedded}
}

// password is that of this process's servers, except embedded ones and ZooKeeper, which run no commands and write no
// files for a client. Other users of the machine can reach the servers.
var password = rand.Text()

// redisURL returns the URL of a redis-server of ours.
func redisURL(port int) string { return fmt.Sprintf("redis://:%s@127.0.0.1:%d", password, port) }

// redisConfig writes the settings of a server or Sentinel, and its password, into a file that no other user reads.
func redisConfig(t testing.TB, settings string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "redis.conf")
	text := fmt.Sprintf("%s\nrequirepass %s\n", settings, password)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// StartRedis starts a redis-server without persistence.
func StartRedis(t testing.TB) *Server {
	t.Helper()
	s, _, _ := Restartable(t)
	return s
}

// Restartable starts a redis-server, and returns functions that kill it and start it again, empty, on the same port.
func Restartable(t testing.TB) (s *Server, stop, start func()) {
	t.Helper()
	port := FreePort(t)
	s = &Server{URL: redisURL(port), Kind: RedisServer}
	dir, config := t.TempDir(), redisConfig(t, "masterauth "+password) // a test makes it a replica
	var process *exec.Cmd
	start = func() {
		process = exec.CommandContext(context.Background(), RedisServer, config, "--port", fmt.Sprint(port),
			"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir)
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		client := Client(t, s)
		for deadline := time.Now().Add(time.Minute); client.Ping(context.Background()).Err() != nil; {
			if time.Now().After(deadline) {
				t.Fatal("redis-server does not answer")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	stop = func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
	start()
	t.Cleanup(func() { stop() })
	return s, stop, start
}

// Client returns a client as the service uses it, with hooks added. It is closed when the test ends.
func Client(t testing.TB, s *Server, hooks ...redis.Hook) redis.UniversalClient {
	t.Helper()
	o := backend.Options{Timeout: 2 * time.Second, PoolSize: 32, Dialer: s.dial}
	if s.dial != nil {
		o.PoolSize = virtualPool
	}
	c, err := backend.Open(s.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hooks {
		c.AddHook(h)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
