package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"stockapi/internal/handlers"
	"stockapi/internal/lock"
	"stockapi/internal/narrate"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// runServe runs an instance until ctx ends, and then shuts it down.
func runServe(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var c config
	if ok, err := parse(&c, "stockapi", description, args, stdout); !ok {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.ExitWithStdin {
		ctx = untilEOF(ctx, stdin)
	}
	signal.Ignore(syscall.SIGPIPE) // a closed log must not end the orders in flight
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (%w): choose another with --addr", c.Addr, err)
	}
	defer opened.Close()
	listener := opened.(*net.TCPListener) // as "tcp" promises
	if c.Instance == "" {
		_, c.Instance, _ = net.SplitHostPort(listener.Addr().String())
	}
	log := slog.New(newLogHandler(&c, stderr)).With("instance", c.Instance)
	return serve(ctx, &c, listener, narrator(&c, stdout), log)
}

// serve builds the instance and serves until ctx ends.
func serve(
	ctx context.Context, c *config, listener *net.TCPListener, narrator *narrate.Narrator, log *slog.Logger,
) (err error) {
	ready := false
	defer func() {
		if !ready && ctx.Err() != nil {
			err = fmt.Errorf("ended before it was ready: %w", context.Cause(ctx))
		}
	}()
	m := sale.NewMetrics(c.Instance)
	observer := trace.Observer{Names: trace.ScriptNames(), Count: m.Commands.Inc}
	if c.Faults {
		observer.Faults = new(trace.Injector)
		log.Warn("faults are on: a request can hold a lock for minutes")
	}
	servers, err := connect(ctx, c, m, observer, log)
	if err != nil {
		return err
	}
	defer servers.close()
	database, err := openSQL(ctx, c, observer, log)
	if err != nil {
		return err
	}
	if database != nil {
		defer func() { _ = database.Close() }()
	}
	shelf := stock.NewShelf(servers.stock)
	if err := open(ctx, shelf, c, log); err != nil {
		return err
	}

	life, end := context.WithCancel(context.Background())
	var background sync.WaitGroup
	if database != nil && c.SetNXTTL > 0 {
		background.Go(func() { lock.EndNaiveLocks(life, database, c.SetNXTTL) })
	}
	locks := lock.Backends{Redis: servers.locks, Redlock: servers.redlock, RedlockRetry: c.RedlockRetry,
		RedlockTimeout: c.RedlockTimeout, Retry: c.Retry,
		ZooKeeper: servers.zookeeper, MaxRenewals: c.MaxRenewals, Replicas: c.LockReplicas, SQL: database,
		Commands: lock.AskCommands(ctx, servers.locks, c.Product),
		Process:  lock.Process{Life: life, Background: &background, OnRenew: m.OnRenew, OnWake: onWake(m)}}
	shop := sale.New(c.Instance, lock.Ladder(), shelf, locks, m, log)
	shop.Narrate(narrator)
	shop.Note("v6", redlockNote(c))
	for _, number := range mutedRungs(ctx, locks, c, log) {
		shop.Note(number, "the Redis user may not use its channel: no release wakes a waiter")
	}
	shop.Note("v12", sqlNote(c))
	shop.Note("v12-naive", sqlNote(c))
	handler := handlers.New(shop, sale.Admin{Shelf: shelf, Locks: locks}, handlers.Config{Instance: c.Instance,
		Clock: clock(), Build: thisBuild(), Hosts: hosts(c, listener), Bounds: c.bounds(), AdminToken: c.AdminToken,
		Orders: c.Orders, Ready: servers.ready, Faults: observer.Faults, Metrics: m, Log: log})

	port := newPort(listener)
	server := &http.Server{Handler: port.delay(handler), ReadHeaderTimeout: headerTime, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: errorLog(log)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(port) }()
	warnIfOpen(c, listener, log)
	ready = true
	log.Info("ready", "url", "http://"+listener.Addr().String(), "redis", redactRedis(c.Redis))

	select {
	case err = <-served:
	case <-ctx.Done():
		err = drain(server, port, shop, c, log)
	}
	end()
	background.Wait()
	return err
}

// mutedRungs returns the rungs whose releases wake no waiter, because the Redis user may not use their channels, and
// logs a warning if there are any.
func mutedRungs(ctx context.Context, locks lock.Backends, c *config, log *slog.Logger) []string {
	muted := locks.MutedRungs(ctx, c.Product)
	if len(muted) > 0 {
		log.Warn("the Redis user may not use the channels of " + strings.Join(muted, ", ") +
			": their waiters poll, and each release is an error; docs/configuration.md has the ACL")
	}
	return muted
}

// onWake counts and traces the waiters that a release wakes.
func onWake(m *sale.Metrics) func(ctx context.Context, by lock.Notification, on string) {
	return func(ctx context.Context, by lock.Notification, on string) {
		m.Woken.WithLabelValues(string(by)).Inc()
		trace.Woken(ctx, on)
	}
}

// open creates the product of --product, unless it exists.
func open(ctx context.Context, shelf *stock.Shelf, c *config, log *slog.Logger) error {
	created, err := shelf.Open(ctx, c.Product, c.Stock, c.StockTTL)
	if err != nil {
		return fmt.Errorf("%w: can this user write to %s?", err, redactRedis(c.Redis))
	}
	if created {
		log.Info("shop opened", "product", c.Product, "stock", c.Stock)
	}
	return nil
}

func redlockNote(c *config) string {
	switch n := len(c.Redlock); n {
	case 0:
		return "over 1 node, the lock Redis alone: --redlock names independent ones"
	case 1:
		return "over 1 node"
	default:
		return fmt.Sprintf("over %d nodes, quorum %d", n, n/2+1)
	}
}

// hosts returns the allowed names of the instance: its address and those of --hosts.
func hosts(c *config, listener net.Listener) handlers.Hosts {
	given, _, _ := net.SplitHostPort(c.Addr)
	return handlers.Hosts{Names: append([]string{given}, c.Hosts...), Beyond: !onLoopback(listener.Addr().String())}
}

// onLoopback reports whether only this machine reaches the address that a listener has.
func onLoopback(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// warnIfOpen logs a warning if other machines can set the stock and break locks.
func warnIfOpen(c *config, listener net.Listener, log *slog.Logger) {
	if !onLoopback(listener.Addr().String()) && c.AdminToken == "" {
		log.Warn("the network can set the stock and break locks: --admin-token puts that behind a token")
	}
}

func newLogHandler(c *config, w io.Writer) slog.Handler {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // the parser accepts only levels
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// narrator returns the narrator of --narrate, or nil. It writes to standard output, and so apart from the log.
func narrator(c *config, stdout io.Writer) *narrate.Narrator {
	if !c.Narrate {
		return nil
	}
	return narrate.New(stdout, takesColor(stdout))
}

// takesColor reports whether w is a terminal that shows colours, and the user has not declined them. See no-color.org.
// On Windows only the newer terminal understands the codes by default.
func takesColor(w io.Writer) bool {
	if o, is := w.(*output); is {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	if runtime.GOOS == "windows" && isatty.IsTerminal(f.Fd()) {
		return os.Getenv("WT_SESSION") != ""
	}
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// clock identifies the clock of this machine: by the boot ID of the kernel, which processes in containers share, or
// else by the name of the host.
func clock() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return host
}

// readyConfig holds the settings of stockapi ready.
type readyConfig struct {
	Addr string `default:"127.0.0.1:5000" placeholder:"HOST:PORT" help:"Address of the instance. Default: ${default}."`
}

// runReady asks an instance whether it is ready. It is for health checks in images without curl.
func runReady(ctx context.Context, args []string, stdout io.Writer) error {
	var c readyConfig
	const about = "Asks an instance whether it is ready: exit code 0 if it is, 1 if not."
	if ok, err := parse(&c, "stockapi ready", about, args, stdout); !ok {
		return err
	}
	if strings.HasPrefix(c.Addr, ":") { // an instance listens on it, and no Host is a port alone
		c.Addr = "localhost" + c.Addr
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Addr+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	client := http.Client{Transport: new(http.Transport)} // without the environment's proxy: 0.0.0.0 would be the proxy's
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("not ready: " + response.Status)
	}
	return nil
}
