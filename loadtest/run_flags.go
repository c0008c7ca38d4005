package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/scenario"
)

// runFlags are the flags of a run.
type runFlags struct {
	all bool // every rung in every scenario, unless some are named

	Names     []string `arg:"" optional:"" name:"name" help:"Only these scenarios and rungs: pause v4."`
	Rungs     []string `group:"what" placeholder:"RUNG" help:"Only these rungs, by number or by name."`
	Scenarios []string `group:"what" placeholder:"NAME" help:"Only these scenarios."`
	Repeat    int      `group:"what" default:"1" help:"Run each cell this often; it is as expected only if every run is."`
	AtOnce    int      `group:"what" default:"16" help:"Run this many fault cells side by side: they mostly wait. Use fewer on a small or busy machine."`
	Instances int      `group:"what" default:"2" help:"Instances in scenarios that use several."`

	Requests    int           `group:"load" default:"300" help:"Buyers per cell."`
	Concurrency int           `group:"load" default:"100" help:"Buyers at once."`
	Stock       int64         `group:"load" default:"100" help:"Units to sell."`
	Rate        float64       `group:"load" placeholder:"R" help:"Open loop: R requests fall due per second, and latency counts from when each is due. Default: closed loop."`
	Wait        time.Duration `group:"load" default:"20s" help:"How long a buyer waits for the lock."`
	TTL         time.Duration `group:"load" name:"ttl" default:"30s" help:"How long a lock lasts if nobody releases it."`
	Work        time.Duration `group:"load" default:"1ms" help:"How long an order works between reading and writing the stock."`

	Backend   string   `group:"servers" default:"auto" placeholder:"KIND" help:"Where stock and locks are kept: auto (redis-server from PATH, else embedded), embedded, redis-server, or the URL of a Redis."`
	SQL       string   `group:"servers" name:"sql" default:"auto" placeholder:"KIND" help:"Where the locks of v12 are kept: auto (start MariaDB or PostgreSQL, whichever is installed; else a file), mariadb, postgres, sqlite (a file), or a DSN like that of stockapi's --sql. A run removes what it writes there."`
	ZooKeeper string   `group:"servers" name:"zookeeper" placeholder:"HOST:PORT" help:"ZooKeeper for v13 and v14. Default: start one if Debian's package zookeeper is installed; else skip these rungs."`
	Targets   []string `group:"servers" placeholder:"URL" help:"Drive these running instances, and start nothing. One-instance uses only the first."`

	Out     string `group:"output" placeholder:"DIR" xor:"out" help:"Keep the run in DIR, by default out, in place of the last one: results.jsonl.gz, with all histories, matrix.txt and report.html."`
	NoOut   bool   `group:"output" xor:"out" help:"Keep nothing of the run."`
	Verbose bool   `group:"output" help:"Print all stories and all figures. Default: the stories that teach most, and the matrix."`
	Predict bool   `group:"output" help:"Ask before the run which letters of each cell will break, and print afterwards how many cells you predicted."`
}

// groups are the groups of these flags in --help.
var groups = []kong.Group{
	{Key: "what", Title: "What is run:"}, {Key: "load", Title: "The load:"},
	{Key: "servers", Title: "Servers:"}, {Key: "output", Title: "Output:"},
}

// theStockapi returns the stockapi to start, "" for the usual one.
func theStockapi() string { return os.Getenv("LOADTEST_STOCKAPI") }

// adminToken returns the admin token of the instances. It is no flag, since others can read a command line.
func adminToken() string { return os.Getenv("LOADTEST_ADMIN_TOKEN") }

// clusterOptions returns the options of a cluster that has what the cells need.
func (f *runFlags) clusterOptions(specs []catalog.Spec) cluster.Options {
	redlock, zookeeper, database := 0, false, false
	for _, spec := range specs {
		zookeeper = zookeeper || spec.Rung.OnZooKeeper()
		database = database || spec.Rung.OnSQL()
		if spec.Rung.OnNodes() {
			redlock = scenario.RedlockNodes
		}
	}
	return cluster.Options{
		Stockapi: theStockapi(), Backend: f.Backend, Redlock: redlock,
		ZooKeeper: zookeeper, ZooKeeperAddress: f.ZooKeeper, Database: database, SQL: f.SQL,
		// It raises what the instances accept to what this run asks for; the first value is stockapi's own default.
		Max: cluster.Bounds{
			Wait: max(time.Minute, f.Wait), TTL: max(10*time.Minute, f.TTL), Work: max(time.Minute, f.Work),
		},
	}
}

// outlasted reports whether the run uses anything that is still there after it. Servers of its own go when it ends,
// with all that they hold.
func (f *runFlags) outlasted() bool {
	isURL := func(text string) bool { return strings.Contains(text, "://") }
	return len(f.Targets) > 0 || isURL(f.Backend) || isURL(f.SQL) || f.ZooKeeper != ""
}

// check refuses numbers that no run can be made of.
func (f *runFlags) check() error {
	return errors.Join(f.sizes(), f.durations(), f.places())
}

func (f *runFlags) sizes() error {
	if err := cmp.Or(
		loadSizes(f.Requests, f.Concurrency, f.Stock),
		within("--instances", f.Instances, 2, 32),
		within("--at-once", f.AtOnce, 1, 64),
		within("--repeat", f.Repeat, 1, 1000),
	); err != nil {
		return err
	}
	if math.IsNaN(f.Rate) || f.Rate < 0 || f.Rate > 1e6 || (f.Rate > 0 && float64(f.Requests)/f.Rate > 24*3600) {
		return errors.New("--rate must lie between 0 and 1000000, and the run must end within a day")
	}
	return nil
}

// loadSizes refuses a crowd or a stock that is out of bounds.
func loadSizes(requests, concurrency int, stock int64) error {
	return cmp.Or(
		within("--requests", requests, 1, 1_000_000),
		within("--concurrency", concurrency, 1, 5000),
		within("--stock", stock, 1, 1_000_000_000),
	)
}

func within[N int | int64](flag string, value, low, high N) error {
	if value < low || value > high {
		return fmt.Errorf("%s must lie between %d and %d", flag, low, high)
	}
	return nil
}

func (f *runFlags) durations() error {
	switch {
	case f.Wait < 0 || f.Wait > time.Hour:
		return errors.New("--wait must lie between 0s and 1h")
	case f.TTL < 10*time.Millisecond || f.TTL > time.Hour:
		return errors.New("--ttl must lie between 10ms and 1h")
	case f.Work < 0 || f.Work > time.Hour:
		return errors.New("--work must lie between 0s and 1h")
	}
	return nil
}

// databases are the schemes of a DSN.
var databases = []string{"sqlite", "mysql", "mariadb", "postgres", "postgresql"}

func (f *runFlags) places() error {
	if err := checkURLs(f.Targets); err != nil {
		return fmt.Errorf("--targets: %w", err)
	}
	for _, given := range [][2]string{{"--backend", f.Backend}, {"--sql", f.SQL}} {
		if strings.Contains(given[1], "#") { // the part of a password before it would be the host
			return fmt.Errorf("%s: a URL with a raw # is not used: write # as %%23", given[0])
		}
	}
	if u, err := url.Parse(f.SQL); !slices.Contains(cluster.Databases, f.SQL) &&
		(err != nil || !slices.Contains(databases, u.Scheme)) {
		return fmt.Errorf("--sql: %s is neither %s nor a DSN that begins with one of %s%s", typed(f.SQL, "it"),
			strings.Join(cluster.Databases, ", "), strings.Join(databases, ", "), catalog.DidYouMean(f.SQL, cluster.Databases))
	}
	if u, err := url.Parse(f.Backend); !slices.Contains(cluster.Redises, f.Backend) &&
		(err != nil || !strings.HasPrefix(u.Scheme, "redis")) {
		return fmt.Errorf("--backend: %s is neither %s nor a URL such as redis://127.0.0.1:6379%s", typed(f.Backend, "it"),
			strings.Join(cluster.Redises, ", "), catalog.DidYouMean(f.Backend, cluster.Redises))
	}
	return nil
}

// checkURLs refuses what is no URL of an instance, and one that is named twice: a mutex in one process would hold
// between the two. It cuts off a slash at the end.
func checkURLs(urls []string) error {
	for i, t := range urls {
		u, err := url.Parse(t)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil ||
			strings.Contains(t, "#") { // the part of a password before it would be the host
			near := ""
			if u, err := url.Parse("http://" + t); err == nil && u.Port() != "" && !mayBeSecret(t) {
				near = fmt.Sprintf(", did you mean %q?", u)
			}
			return fmt.Errorf("%s is not a URL such as http://127.0.0.1:5000%s", typed(t, fmt.Sprintf("number %d", i+1)), near)
		}
		urls[i] = strings.TrimRight(t, "/")
		if slices.Contains(urls[:i], urls[i]) {
			return fmt.Errorf("%s is named twice: name each instance once", urls[i])
		}
	}
	return nil
}

// typed returns what was typed, in quotation marks. If it may hold a password, it returns the other name of it.
func typed(text, other string) string {
	if mayBeSecret(text) {
		return other
	}
	return fmt.Sprintf("%.80q", text)
}

// mayBeSecret reports whether an address may hold a password: of a user, cut off by a #, or as a parameter.
func mayBeSecret(address string) bool { return strings.ContainsAny(address, "@#=") }
