package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/internal/handlers"
)

// config is what can be set. Every flag has an environment variable: --lock-redis is STOCKAPI_LOCK_REDIS.
type config struct {
	Addr     string `default:"127.0.0.1:5000" placeholder:"HOST:PORT" help:"Where to listen. Port 0 is any free one. ${default}."`
	Instance string `placeholder:"NAME" help:"This instance's name in responses, logs and metrics. Default: the port."`

	Redis          string        `placeholder:"URL" help:"Redis that keeps the stock, or 'embedded' for one inside this process. ?master_name=… for Sentinel, ?addr=… for Cluster. redis://127.0.0.1:6379."`
	LockRedis      string        `placeholder:"URL" help:"Redis that keeps the locks. Default: the same."`
	Redlock        []string      `placeholder:"URL" help:"Independent Redis nodes for v6 and v9-nodes, each a server of its own. Default: the lock Redis alone."`
	RedlockRetry   time.Duration `default:"1s" help:"How long v6 waits between two tries, on average. ${default}."`
	RedlockTimeout time.Duration `default:"50ms" help:"How long a node of v6 may take to answer, at most: it gets a twentieth of the TTL, and no less than 5ms. ${default}."`
	Retry          time.Duration `default:"50ms" help:"How long, at most, a rung that polls waits between two tries. ${default}."`
	RedisTimeout   time.Duration `default:"1s" help:"For connecting to Redis, or ZooKeeper, and for each command. ${default}."`
	SQL            string        `name:"sql" placeholder:"DSN" help:"Database that keeps the locks of v12: sqlite:///path, mysql://…, mariadb://… or postgres://…, or 'none'. Default: an SQLite file that this user's instances on this machine share, made when v12 first sells."`
	SQLTimeout     time.Duration `name:"sql-timeout" default:"1s" help:"For connecting to the database and for each statement. ${default}."`
	EmbeddedAddr   string        `default:"127.0.0.1:6390" placeholder:"HOST:PORT" help:"Where an embedded Redis listens. ${default}."`

	ZooKeeper        string        `name:"zookeeper" placeholder:"HOST:PORT,…" help:"ZooKeeper for v13 and v14. Default: none, and they are not available."`
	ZooKeeperSession time.Duration `name:"zookeeper-session" default:"6s" help:"How long its locks outlive their holder: they have no TTL. ZooKeeper sets bounds to it. ${default}."`

	TTL         time.Duration `name:"ttl" default:"30s" help:"Of a lease, when a request does not say. ${default}."`
	Wait        time.Duration `default:"-1s" help:"How long to wait for the lock when a request does not say. Default: as the rung does (v1 to v5 try once, v6 and those who queue wait 20s)."`
	MaxTTL      time.Duration `name:"max-ttl" default:"10m" help:"Longest ttl that a request may ask for. ${default}."`
	MaxWait     time.Duration `default:"1m" help:"Longest wait that a request may ask for. ${default}."`
	MaxWork     time.Duration `default:"1m" help:"Longest work that a request may ask for. ${default}."`
	MaxQuantity int64         `default:"1000" help:"Most units in one request. ${default}."`

	Product  string        `default:"10000" help:"Product to open the shop with, if it has no stock yet. ${default}."`
	Stock    int64         `default:"100" help:"Units to open the shop with. ${default}."`
	StockTTL time.Duration `name:"stock-ttl" placeholder:"TIME" help:"How long those are there. Default: for good."`

	SetNXTTL time.Duration `name:"setnx-ttl" placeholder:"TIME" help:"After how long a lock of v1 ends that nobody gives back. Default: never, which is what v1 shows. For tests on a Redis that is somebody else's."`

	MaxRenewals int `default:"3" help:"How often v5.5 and v9 renew a lease before it cancels the work. ${default}."`

	Orders int `default:"10000" help:"How many of the last orders GET /orders/{order} knows the outcome of; 0 for none. ${default}."`

	Faults       bool          `help:"Let requests ask for faults: fault=crash@after:setnx. For tests: any client can end this process."`
	AdminToken   string        `placeholder:"TOKEN" help:"Needed by PUT and DELETE on /stock and /locks, and for faults. Default: they are open."`
	Hosts        []string      `placeholder:"NAME" help:"What a request may have as its Host beside localhost and the address: a name, or '*' for any. Default: on loopback none, else any address and any name without a dot."`
	DrainDelay   time.Duration `default:"200ms" help:"Time between failing /readyz and closing the port. ${default}."`
	DrainTimeout time.Duration `default:"30s" help:"Longest wait for requests in flight at the end. ${default}."`
	LogFormat    string        `enum:"text,json" default:"text" help:"text or json. ${default}."`
	LogLevel     string        `enum:"debug,info,warn,error" default:"info" help:"debug also logs 'sold out' and 'busy'. ${default}."`

	RedisFile      string `placeholder:"FILE" help:"The value of --redis, in a file."`
	LockRedisFile  string `placeholder:"FILE" help:"The value of --lock-redis, in a file."`
	RedlockFile    string `placeholder:"FILE" help:"The value of --redlock, in a file, with commas or a URL a line."`
	SQLFile        string `name:"sql-file" placeholder:"FILE" help:"The value of --sql, in a file."`
	AdminTokenFile string `placeholder:"FILE" help:"The value of --admin-token, in a file."`

	ExitWithStdin bool `help:"End when standard input ends: with the process that holds its other end."`

	Version kong.VersionFlag `env:"-" help:"Print which build this is, and end."`
}

// defaultRedis is where a Redis listens if it was told nothing.
const defaultRedis = "redis://127.0.0.1:6379"

const description = `Sells one product behind a ladder of locks: POST /v4/decrease sells a unit under the lock of rung v4.

Run two: stockapi, and stockapi --addr 127.0.0.1:5010. GET /rungs lists the rungs, /docs explains the rest.
Every flag can be set by an environment variable, STOCKAPI_ADDR for --addr. What may hold a password can stand in a file,
where no list of processes shows it: --sql-file for --sql, and so on.

Other commands: stockapi redis runs the embedded Redis alone; stockapi ready asks an instance whether it is ready.`

// parse fills target from the command line and the environment. It returns false when help was asked for and given.
func parse(target any, name, description string, args []string, stdout io.Writer) (bool, error) {
	helped := false
	parser, err := kong.New(target, kong.Name(name), kong.Description(description), kong.DefaultEnvars("STOCKAPI"),
		kong.Vars{"version": thisBuild()}, kong.Writers(stdout, stdout), kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}))
	if err != nil {
		return false, fmt.Errorf("command line: %w", err)
	}
	_, err = parser.Parse(args)
	if helped {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", redactArgs(err.Error(), args, os.Environ()), errUsage)
	}
	return true, nil
}

// The bounds of a session. Its lease is looked after at half of it, and the protocol counts it in 32 bits.
const (
	minSession = 100 * time.Millisecond
	maxSession = time.Hour
)

// maxOrders bounds the memory for orders: each takes some 400 bytes.
const maxOrders = 1_000_000

// check refuses what no instance can work with.
func (c *config) check() error {
	switch {
	case c.TTL < 10*time.Millisecond || c.TTL > c.MaxTTL:
		return fmt.Errorf("--ttl must lie between 10ms and --max-ttl (%v): %w", c.MaxTTL, errUsage)
	case c.Wait > c.MaxWait:
		return fmt.Errorf("--wait must not exceed --max-wait (%v): %w", c.MaxWait, errUsage)
	case c.MaxRenewals < 1:
		return fmt.Errorf("--max-renewals must be at least 1: %w", errUsage)
	case c.MaxWork < 0 || c.MaxWait < 0 || c.MaxQuantity < 1:
		return fmt.Errorf("bounds must not be negative: %w", errUsage)
	case min(c.RedisTimeout, c.SQLTimeout, c.RedlockRetry, c.RedlockTimeout, c.Retry, c.DrainTimeout) <= 0 || c.DrainDelay < 0:
		return fmt.Errorf("times must be positive: %w", errUsage)
	case c.LockRedis == embedded:
		return errors.Join(errors.New("only --redis can be embedded"), errUsage)
	}
	return errors.Join(c.checkShelf(), c.checkSession())
}

// checkShelf looks at what the shop opens with, and what it remembers.
func (c *config) checkShelf() error {
	switch {
	case c.Stock < 0 || c.Stock > handlers.MaxStock:
		return fmt.Errorf("--stock must lie between 0 and %d: %w", handlers.MaxStock, errUsage)
	case c.SetNXTTL < 0 || c.SetNXTTL > 0 && c.SetNXTTL < time.Second:
		return fmt.Errorf("--setnx-ttl must be 1s or more: %w", errUsage)
	case c.StockTTL < 0 || c.StockTTL > handlers.MaxStockTTL || c.StockTTL > 0 && c.StockTTL < time.Second:
		return fmt.Errorf("--stock-ttl must lie between 1s and %v: %w", handlers.MaxStockTTL, errUsage)
	case c.Orders < 0 || c.Orders > maxOrders:
		return fmt.Errorf("--orders must lie between 0 and %d: %w", maxOrders, errUsage)
	}
	return nil
}

func (c *config) checkSession() error {
	if c.ZooKeeperSession < minSession || c.ZooKeeperSession > maxSession {
		return fmt.Errorf("--zookeeper-session must lie between %v and %v: %w", minSession, maxSession, errUsage)
	}
	return nil
}

func (c *config) bounds() handlers.Bounds {
	b := handlers.Bounds{MaxWork: c.MaxWork, MaxTTL: c.MaxTTL, MaxWait: c.MaxWait, MaxQuantity: c.MaxQuantity,
		DefaultTTL: c.TTL}
	if c.Wait >= 0 {
		b.DefaultWait = &c.Wait
	}
	return b
}
