// Package backend opens the clients of an instance's servers: Redis from URLs, an embedded Redis, and ZooKeeper.
// Package sqldb opens the SQL database.
package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options holds the settings that all clients of an instance share.
type Options struct {
	Timeout  time.Duration // for connecting, and for each command
	PoolSize int           // connections to one server
	Name     string        // of the instance, shown in a database's list of sessions

	// Dialer connects to a single server, in place of the network. Nil: to that of the URL.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Open returns a client for a URL. It does not connect yet.
//
//	redis://:password@host:6379/0                          one server; rediss:// for TLS, unix:///path for a socket
//	redis://host1:26379?addr=host2:26379&master_name=shop  Sentinel: the nodes named are sentinels
//	redis://host1:6379?addr=host2:6379                     Cluster; one node alone with ?cluster=true
//
// The other query parameters are those of go-redis. No client retries a command: a repeated SET NX is refused because
// of its own first try, and a repeated write of the stock could undo another's. See [sendOnce] for the cluster client.
func Open(raw string, o Options) (redis.UniversalClient, error) {
	if err := CheckHash(raw); err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, URLError(raw, err)
	}
	query := u.Query()
	switch {
	case query.Has("master_name"):
		return openFailover(raw, o)
	case query.Has("addr") || query.Has("cluster"):
		query.Del("cluster")
		u.RawQuery = query.Encode()
		return openCluster(u.String(), o)
	}
	return openSingle(raw, o)
}

func openSingle(raw string, o Options) (redis.UniversalClient, error) {
	c, err := redis.ParseURL(raw)
	if err != nil {
		return nil, URLError(raw, err)
	}
	c.DialTimeout, c.ReadTimeout, c.WriteTimeout, c.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
	c.PoolSize, c.ReadBufferSize, c.WriteBufferSize = o.PoolSize, bufferSize, bufferSize
	c.MaxRetries, c.DialerRetries, c.ContextTimeoutEnabled = -1, 1, true
	c.Protocol, c.DisableIdentity, c.MaintNotificationsConfig = 2, true, noMaintNotifications()
	c.Dialer, c.ConnMaxIdleTime = o.dialer(c.TLSConfig), maxIdle(runtime.GOOS, c.ConnMaxIdleTime)
	return redis.NewClient(c), nil
}

func openFailover(raw string, o Options) (redis.UniversalClient, error) {
	c, err := redis.ParseFailoverURL(raw)
	if err != nil {
		return nil, URLError(raw, err)
	}
	c.DialTimeout, c.ReadTimeout, c.WriteTimeout, c.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
	c.PoolSize, c.ReadBufferSize, c.WriteBufferSize = o.PoolSize, bufferSize, bufferSize
	c.MaxRetries, c.DialerRetries, c.ContextTimeoutEnabled = -1, 1, true
	c.Protocol, c.DisableIdentity = 2, true
	c.Dialer, c.ConnMaxIdleTime = o.dialer(c.TLSConfig), maxIdle(runtime.GOOS, c.ConnMaxIdleTime)
	return redis.NewFailoverClient(c), nil
}

func openCluster(raw string, o Options) (redis.UniversalClient, error) {
	c, err := redis.ParseClusterURL(raw)
	if err != nil {
		return nil, URLError(raw, err)
	}
	c.DialTimeout, c.ReadTimeout, c.WriteTimeout, c.PoolTimeout = o.Timeout, o.Timeout, o.Timeout, o.Timeout
	c.PoolSize, c.ReadBufferSize, c.WriteBufferSize = o.PoolSize, bufferSize, bufferSize
	c.MaxRetries, c.DialerRetries, c.ContextTimeoutEnabled = -1, 1, true
	c.Protocol, c.DisableIdentity, c.MaintNotificationsConfig = 2, true, noMaintNotifications()
	c.Dialer, c.ConnMaxIdleTime = o.dialer(c.TLSConfig), maxIdle(runtime.GOOS, c.ConnMaxIdleTime)
	client := redis.NewClusterClient(c)
	client.OnNewNode(func(node *redis.Client) { node.AddHook(sendOnce{}) })
	return client, nil
}

// bufferSize is enough for this service's short commands, and a sixteenth of the default of go-redis.
const bufferSize = 4 << 10

// noMaintNotifications stops go-redis from asking servers for maintenance notifications, which few servers know.
func noMaintNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Silence turns off the log of go-redis. Its errors are also returned, and callers log them.
func Silence() { logging.Disable() }

// SafeName returns name with every character but ASCII letters, digits, dots, - and _ replaced by -, cut to size. Such
// a name can be shown in a server's lists.
func SafeName(name string, size int) string {
	plain := func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}
	name = strings.Map(plain, name)
	return name[:min(len(name), size)]
}

// pingPatience bounds how long Ping retries a slow server: on a busy machine the first connection may take longer than
// a timeout for commands.
const pingPatience = 5 * time.Second

// Ping returns nil if the server answers. It retries after a timeout, but not after a refused connection.
func Ping(ctx context.Context, c redis.UniversalClient) error {
	begun := time.Now()
	err := c.Ping(ctx).Err()
	for isTimeout(err) && ctx.Err() == nil && time.Since(begun) < pingPatience {
		err = c.Ping(ctx).Err()
	}
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
