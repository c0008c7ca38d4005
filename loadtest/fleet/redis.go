package fleet

import (
	"context"
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
	"github.com/redis/go-redis/v9/logging"
)

// redisServer starts real servers that write nothing to disk and never evict: a lock that is evicted for lack of
// memory is a lock lost.
func (f *Fleet) redisServer(path string) starter {
	return func(ctx context.Context, name string) (string, error) {
		var last error
		for range 3 { // the port is free when we look, and may be taken when the server does
			port, err := freePort()
			if err != nil {
				return "", err
			}
			dir := filepath.Join(f.dir, strconv.Itoa(port))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return "", err
			}
			cmd := exec.Command(path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
				"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--daemonize", "no")
			_, url, err := f.start(ctx, name, cmd, func(line string) (string, bool) {
				return fmt.Sprintf("redis://127.0.0.1:%d", port), strings.Contains(line, "Ready to accept connections")
			})
			if err == nil || ctx.Err() != nil {
				return url, err
			}
			last = err
		}
		return "", last
	}
}

// embedded starts the imitation that stockapi carries. It says its URL in its first line.
func (f *Fleet) embedded(stockapi string) starter {
	return func(ctx context.Context, name string) (string, error) {
		cmd := exec.Command(stockapi, "redis", "--addr", "127.0.0.1:0", "--exit-with-stdin")
		cmd.Env = environment("")
		_, url, err := f.start(ctx, "embedded "+name, cmd, func(line string) (string, bool) {
			return line, strings.HasPrefix(line, "redis://")
		})
		return url, err
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ping waits until the Redis answers, and returns its version.
func ping(ctx context.Context, rawURL string) (version string, err error) {
	logging.Disable() // its complaints about a server that is away would stand between our own lines
	o, err := redis.ParseURL(rawURL)
	if err != nil {
		return "", err
	}
	o.MaxRetries, o.DialTimeout = -1, 2*time.Second
	client := redis.NewClient(o)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return "", err
	}
	info, _ := client.Info(ctx, "server").Result() // some servers have no INFO; then the version stays unsaid
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(v), nil
		}
	}
	return "of unknown version", nil
}

// redact hides the password of a Redis URL.
func redact(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "the given URL"
	}
	return u.Redacted()
}
