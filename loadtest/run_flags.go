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

	Names     []string `arg:"" optional:"" name:"name" help:"Run only these scenarios and rungs: pause v4."`
	Rungs     []string `group:"what" placeholder:"RUNG" help:"Run only these rungs, by number or name."`
	Scenarios []string `group:"what" placeholder:"NAME" help:"Run only these scenarios."`
	Repeat    int      `group:"what" default:"1" help:"Run each cell this often; each run must be as expected."`
	AtOnce    int      `group:"what" default:"16" help:"Run this many fault cells at once; fewer on a busy machine."`
	Instances int      `group:"what" default:"2" help:"Use this many instances where a scenario uses several."`

	Requests    int           `group:"load" default:"300" help:"Buyers per cell."`
	Concurrency int           `group:"load" default:"100" help:"Buyers at once."`
	Stock       int64         `group:"load" default:"100" help:"Units to sell."`
	Rate        float64       `group:"load" placeholder:"R" help:"${rate_help}"`
	Wait        time.Duration `group:"load" default:"20s" help:"Longest wait of a buyer for the lock."`
	TTL         time.Duration `group:"load" name:"ttl" default:"30s" help:"TTL of a lock."`
	Work        time.Duration `group:"load" default:"1ms" help:"Work of an order between its read and its write."`

	Backend   string   `group:"servers" default:"auto" placeholder:"KIND" help:"${backend_help}"`
	SQL       string   `group:"servers" name:"sql" default:"auto" placeholder:"KIND" help:"${sql_help}"`
	ZooKeeper string   `group:"servers" name:"zookeeper" placeholder:"HOST:PORT" help:"${zookeeper_help}"`
	Targets   []string `group:"servers" placeholder:"URL" help:"${targets_help}"`

	Out     string `group:"output" placeholder:"DIR" xor:"out" help:"${out_help}"`
	NoOut   bool   `group:"output" xor:"out" help:"Write no files."`
	Verbose bool   `group:"output" help:"Print all stories and figures, not only the most instructive."`
	Predict bool   `group:"output" help:"Ask first which verdicts each cell will break, and score you at the end."`
}

// groups are the groups of these flags in --help.
var groups = []kong.Group{
	{Key: "what", Title: "Selection:"}, {Key: "load", Title: "Load:"},
	{Key: "servers", Title: "Servers:"}, {Key: "output", Title: "Output:"},
}

// theStockapi returns the stockapi to start, "" for the usual one.
func theStockapi() string { return os.Getenv("LOADTEST_STOCKAPI") }

// adminToken returns the admin token of the instances. It is no flag, since others can read a command line.
func adminToken() string { return os.Getenv("LOADTEST_ADMIN_TOKEN") }

// clusterOptions returns the options of a cluster with the servers that the cells need.
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
		// Instances accept at least their own defaults, and as much as this run needs.
		Max: cluster.Bounds{
			Wait: max(time.Minute, f.Wait), TTL: max(10*time.Minute, f.TTL), Work: max(time.Minute, f.Work),
		},
	}
}

// outlasted reports whether the run uses a server that outlives it. Servers that it started die with it, and so does
// their data.
func (f *runFlags) outlasted() bool {
	isURL := func(text string) bool { return strings.Contains(text, "://") }
	return len(f.Targets) > 0 || isURL(f.Backend) || isURL(f.SQL) || f.ZooKeeper != ""
}

// check returns an error if the flags are out of bounds, or name no server.
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

// loadSizes returns an error if a crowd or a stock is out of bounds.
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

// checkURLs returns an error for a URL that cannot be an instance's, and for one that is listed twice: a mutex in one
// process would hold between the two. It trims trailing slashes.
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

// typed returns text in quotation marks, or other if text may hold a password.
func typed(text, other string) string {
	if mayBeSecret(text) {
		return other
	}
	return fmt.Sprintf("%.80q", text)
}

// mayBeSecret reports whether an address may hold a password: of a user, cut off by a #, or as a parameter.
func mayBeSecret(address string) bool { return strings.ContainsAny(address, "@#=") }
