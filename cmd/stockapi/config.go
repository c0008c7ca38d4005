package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/internal/backend"
	"stockapi/internal/handlers"
)

// config holds the settings of an instance. Each flag has an environment variable: STOCKAPI_LOCK_REDIS for
// --lock-redis. The longer help texts are in help.go.
type config struct {
	Addr     string `default:"127.0.0.1:5000" placeholder:"HOST:PORT" help:"${listen_help} ${default}."`
	Instance string `placeholder:"NAME" help:"This instance's name in responses, logs and metrics. Default: the port."`

	Redis          string        `default:"redis://127.0.0.1:6379" placeholder:"URL" help:"${redis_help} ${default}."`
	LockRedis      string        `placeholder:"URL" help:"Redis of the locks. Default: that of the stock."`
	Redlock        []string      `placeholder:"URL" help:"${redlock_help}"`
	RedlockRetry   time.Duration `default:"1s" help:"Average time between two tries of v6."`
	RedlockTimeout time.Duration `default:"50ms" help:"${redlock_timeout_help}"`
	Retry          time.Duration `default:"50ms" help:"Longest time between two tries of a rung that polls."`
	RedisTimeout   time.Duration `default:"1s" help:"${redis_timeout_help}"`
	SQL            string        `name:"sql" placeholder:"DSN" help:"${sql_help}"`
	SQLTimeout     time.Duration `name:"sql-timeout" default:"1s" help:"${sql_timeout_help}"`
	EmbeddedAddr   string        `default:"127.0.0.1:6390" placeholder:"HOST:PORT" help:"${embedded_help} ${default}."`

	RedisPipelining bool `help:"${redis_pipelining_help}"`

	ZooKeeper        string        `name:"zookeeper" placeholder:"HOST:PORT,…" help:"${zookeeper_help}"`
	ZooKeeperSession time.Duration `name:"zookeeper-session" default:"6s" help:"${zookeeper_session_help}"`

	TTL         time.Duration `name:"ttl" default:"30s" help:"TTL of a lease if a request sets none."`
	Wait        time.Duration `default:"-1s" help:"${wait_help}"`
	MaxTTL      time.Duration `name:"max-ttl" default:"10m" help:"Longest ttl that a request may ask for."`
	MaxWait     time.Duration `default:"1m" help:"Longest wait that a request may ask for."`
	MaxWork     time.Duration `default:"1m" help:"Longest work that a request may ask for."`
	MaxQuantity int64         `default:"1000" help:"Most units in one request."`

	Product  string        `default:"10000" help:"Product to create at the start unless it exists."`
	Stock    int64         `default:"100" help:"Its stock, in units."`
	StockTTL time.Duration `name:"stock-ttl" placeholder:"TIME" help:"Its TTL. Default: none."`

	SetNXTTL time.Duration `name:"setnx-ttl" placeholder:"TIME" help:"${setnx_ttl_help}"`

	MaxRenewals  int `default:"3" help:"${max_renewals_help}"`
	LockReplicas int `default:"0" help:"${lock_replicas_help}"`

	Orders int `default:"10000" help:"${orders_help}"`

	Faults       bool          `help:"${faults_help}"`
	AdminToken   string        `placeholder:"TOKEN" help:"${admin_token_help}"`
	Hosts        []string      `placeholder:"NAME" help:"${hosts_help}"`
	DrainDelay   time.Duration `default:"200ms" help:"Time between failing /readyz and closing the port."`
	DrainTimeout time.Duration `default:"30s" help:"Longest wait for requests in flight at shutdown."`
	Narrate      bool          `help:"${narrate_help}"`
	LogFormat    string        `enum:"text,json" default:"text" help:"Format of the log: text or json."`
	LogLevel     string        `enum:"debug,info,warn,error" default:"info" help:"${log_level_help}"`

	ExitWithStdin bool `help:"${exit_with_stdin_help}"`

	Version kong.VersionFlag `env:"-" help:"Print the version of this build, and exit."`
}

const description = `Sells one product behind a ladder of locks: POST /v4/decrease sells a unit under the lock of v4.

Run two: stockapi, and stockapi --addr 127.0.0.1:5010. GET /rungs lists the rungs, and /docs documents the API.
Every flag can be set by an environment variable: STOCKAPI_ADDR for --addr. Set a value that holds a password there,
because other users of the machine can read a command line.

Other commands: stockapi redis runs the embedded Redis alone; stockapi ready checks whether an instance is ready;
stockapi scripts lists the digests of its Lua scripts; stockapi source prints the code of a rung.`

// parse fills target from the command line and the environment. It returns false after it has printed help or version.
func parse(target any, name, description string, args []string, stdout io.Writer) (bool, error) {
	printed := false
	parser, err := kong.New(target, kong.Name(name), kong.Description(description), kong.DefaultEnvars("STOCKAPI"),
		kong.Vars{"version": versionLine()}, helpTexts(args), kong.Writers(stdout, stdout),
		kong.Exit(func(int) { printed = true }), kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}))
	if err != nil {
		return false, fmt.Errorf("command line: %w", err)
	}
	_, err = parser.Parse(args)
	if printed {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", redactArgs(err.Error(), args, os.Environ()), errUsage)
	}
	return true, nil
}

// The bounds of --zookeeper-session. A lock checks its node twice per session timeout, and the protocol has 32 bits for
// it.
const (
	minSession = 100 * time.Millisecond
	maxSession = time.Hour
)

// maxOrders bounds --orders. Each outcome takes about 400 bytes.
const maxOrders = 1_000_000

// errNoAddr refuses an empty address, as from an unset variable: it would mean all interfaces, and any port.
var errNoAddr = fmt.Errorf("an address is HOST:PORT, and not empty: %w", errUsage)

// check returns an error for settings that cannot work.
func (c *config) check() error {
	switch {
	case c.TTL < 10*time.Millisecond || c.TTL > c.MaxTTL:
		return fmt.Errorf("--ttl must lie between 10ms and --max-ttl (%v): %w", c.MaxTTL, errUsage)
	case c.Wait > c.MaxWait:
		return fmt.Errorf("--wait must not exceed --max-wait (%v): %w", c.MaxWait, errUsage)
	case c.MaxRenewals < 1:
		return fmt.Errorf("--max-renewals must be at least 1: %w", errUsage)
	case c.LockReplicas < 0:
		return fmt.Errorf("--lock-replicas must not be negative: %w", errUsage)
	case c.MaxWork < 0 || c.MaxWait < 0 || c.MaxQuantity < 1:
		return fmt.Errorf("bounds must not be negative: %w", errUsage)
	case min(c.RedisTimeout, c.SQLTimeout, c.RedlockRetry, c.RedlockTimeout, c.Retry, c.DrainTimeout) <= 0,
		c.DrainDelay < 0:
		return fmt.Errorf("times must be positive: %w", errUsage)
	case c.Addr == "", c.EmbeddedAddr == "":
		return errNoAddr
	case c.LockRedis == embedded:
		return errors.Join(errors.New("only --redis can be embedded"), errUsage)
	}
	return errors.Join(c.checkShelf(), c.checkSession(), c.checkPipelining(), c.checkToken(), c.checkRedlock())
}

// checkRedlock refuses a node that is listed twice. An order would ask it twice, and its second vote is always no.
// Other names of a listed node are not detected.
func (c *config) checkRedlock() error {
	for i, url := range c.Redlock {
		if slices.Contains(c.Redlock[:i], url) {
			return fmt.Errorf("--redlock names %s twice: name each node once: %w", backend.Redact(url), errUsage)
		}
	}
	return nil
}

// maxToken bounds --admin-token, which has to fit into the 16 KiB of a request's headers.
const maxToken = 8 << 10

// tokenPattern matches a token that can follow Bearer in a header, or none.
var tokenPattern = regexp.MustCompile(`^[!-~]*$`)

func (c *config) checkToken() error {
	if len(c.AdminToken) > maxToken {
		return fmt.Errorf("--admin-token must be no longer than %d bytes: %w", maxToken, errUsage)
	}
	if !tokenPattern.MatchString(c.AdminToken) {
		return fmt.Errorf("--admin-token must fit into a header: ASCII only, no spaces: %w", errUsage)
	}
	return nil
}

// checkPipelining refuses flags that need a hook per command: in a pipeline a hook sees a batch.
func (c *config) checkPipelining() error {
	if c.RedisPipelining && (c.Faults || c.Narrate || c.SetNXTTL > 0) {
		return fmt.Errorf("--redis-pipelining does not go with --faults, --narrate or --setnx-ttl: %w", errUsage)
	}
	return nil
}

// checkShelf checks the settings of the stock and of past orders.
func (c *config) checkShelf() error {
	switch {
	case !handlers.IsName(c.Product):
		return fmt.Errorf("--product must be 1 to 64 letters, digits, _ or -: %w", errUsage)
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
