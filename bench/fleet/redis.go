package fleet

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoRedis says that there is no redis-server on the PATH.
var ErrNoRedis = errors.New("there is no redis-server on the PATH; install it (apt-get install redis-server), " +
	"or name a Redis to use: --redis redis://127.0.0.1:6379")

// A Redis is a redis-server of our own. A keeper process runs it, and ends it when its own input ends.
type Redis struct {
	URL    string
	keeper *exec.Cmd
	in     io.Closer
}

// StartRedis starts a redis-server on a free port of the loopback interface. The keeper is a command that calls [Keep].
func StartRedis(ctx context.Context, keeper []string) (*Redis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNoRedis
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), keeper[0], append(keeper[1:], path)...) // Close ends it
	detach(cmd)
	said := &tail{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	r := &Redis{keeper: cmd, in: in}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("redis-server did not start: %s", said.last())
	}
	r.URL = strings.TrimSpace(url)
	return r, nil
}

// Close ends the server, and waits until it has ended.
func (r *Redis) Close() {
	_ = r.in.Close()
	_ = r.keeper.Wait()
}

// Keep is the keeper: it runs a redis-server, prints its URL when it is ready, and ends it when in ends. The server
// keeps nothing on disk, and never evicts a key, since an evicted lock is a lost lock.
func Keep(path string, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "bench-redis-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	port, err := freePort()
	if err != nil {
		return err
	}
	// Other users of the machine reach the server too, and read its command line.
	config, password := filepath.Join(dir, "redis.conf"), rand.Text()
	if err := os.WriteFile(config, []byte("requirepass "+password+"\n"), 0o600); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cmd := exec.CommandContext(ctx, path, config, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "no", "--maxmemory-policy", "noeviction", "--maxclients", "20000", "--daemonize", "no")
	log, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines, last := bufio.NewScanner(log), ""
	for lines.Scan() {
		if last = lines.Text(); strings.Contains(last, "Ready to accept connections") {
			fmt.Fprintf(out, "redis://:%s@127.0.0.1:%s\n", password, port)
			go func() { _, _ = io.Copy(io.Discard, in); stop() }()
		}
	}
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("redis-server ended: %s", last)
	}
	return nil
}

func freePort() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
