package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/fleet"
)

// commands is the command line.
type commands struct {
	Run      runFlags         `cmd:"" default:"withargs" help:"Run the scenarios and print the matrix. This is the default."`
	Audit    auditFlags       `cmd:"" help:"Judge a file that --json wrote again, offline, from its histories alone."`
	Report   reportFlags      `cmd:"" help:"Make the report, one HTML file, from a file that --json wrote."`
	List     listFlags        `cmd:"" help:"Print what is expected of every rung in every scenario, and why; with names, of those alone: list v4 pause."`
	Contract contractFlags    `cmd:"" help:"Ask a running service, route by route, for what loadtest needs of it: docs/contract.md."`
	Version  kong.VersionFlag `help:"Print which build this is, and end."`

	Guardian guardianCmd `cmd:"" hidden:"" help:"Wait for the end of the standard input, then end what it listed."`
}

// runFlags is what one run can be told.
type runFlags struct {
	Backend   string   `default:"auto" placeholder:"KIND" help:"Where stock and locks are kept: auto (redis-server from PATH, else embedded), embedded, redis-server, or the URL of a Redis."`
	ZooKeeper string   `name:"zookeeper" placeholder:"HOST:PORT" help:"ZooKeeper for v13 and v14. Default: one of its own, where Debian's package zookeeper is installed; else they are not run."`
	Targets   []string `placeholder:"URL" help:"Drive these instances, which run already, and start nothing. One-instance uses the first alone."`
	Stockapi  string   `placeholder:"FILE" help:"The stockapi to start. Default: beside loadtest, else from PATH, else built from this module."`
	SQL       string   `name:"sql" default:"auto" placeholder:"KIND" help:"Where the locks of v12 are kept: auto (a server of its own, MariaDB or PostgreSQL, whichever is installed; else a file), mariadb, postgres, sqlite (a file), or a DSN as stockapi's --sql has it. What a run writes there it removes."`

	Instances int      `default:"2" help:"How many instances the scenarios with several use."`
	Rungs     []string `placeholder:"RUNG" help:"Only these rungs, by number or by name."`
	Scenarios []string `placeholder:"NAME" help:"Only these scenarios."`
	AtOnce    int      `default:"12" help:"How many fault cells run side by side: they mostly wait. On a machine that is busy or small, fewer."`
	Repeat    int      `default:"1" help:"How often to run each cell; it is as expected only if it is so each time."`

	Requests    int           `default:"300" help:"How many buyers per cell: exactly so many, whatever the concurrency."`
	Concurrency int           `default:"100" help:"How many at once."`
	Stock       int64         `default:"100" help:"How many units there are to sell."`
	Rate        float64       `placeholder:"R" help:"Open loop: R requests per second fall due, and latency counts from then. Default: closed loop."`
	Power       float64       `placeholder:"P" help:"Choose requests and stock so that a fault of one sale in 1/P or more would show, with a confidence of 95 %, such as 1e-4. Not with --requests or --stock."`
	Wait        time.Duration `default:"20s" help:"How long a buyer waits for the lock."`
	TTL         time.Duration `name:"ttl" default:"30s" help:"How long a lock lasts if nobody releases it."`
	Work        time.Duration `default:"1ms" help:"How long the business takes between reading and writing the stock."`
	Seed        *uint64       `placeholder:"N" help:"Seed of when orders fall due in an open loop; a closed one has nothing random. Default: a new one, which is printed."`

	sized []string // which flags gave the size of the load

	Join     string        `placeholder:"NAME" help:"Make one run together with other load generators, on any machines, that are told the same NAME: every cell begins at one instant, and each comes to the verdict on what all did. What they run has to agree. They meet at the Redis of --backend, or at --meet. Without --scenarios it is two-instances, and with --targets one-instance too; the others are for one alone. Of --seed the first one's counts."`
	Parties  int           `default:"2" help:"How many load generators --join brings together."`
	JoinWait time.Duration `default:"2m" help:"How long to wait for the others to come."`
	Meet     string        `placeholder:"URL" help:"The Redis where they meet, if it is not that of --backend. Needed with --targets."`

	JSON       string `name:"json" placeholder:"FILE" help:"Write everything to FILE, histories included: one JSON document, or JSON lines from 100,000 orders on; compressed if FILE ends in .gz."`
	Out        string `placeholder:"DIR" help:"Write results.json (results.jsonl.gz from 100,000 orders on), matrix.txt and report.html to DIR, and Porcupine's pictures of first violations to DIR/porcupine."`
	AdminToken string `env:"LOADTEST_ADMIN_TOKEN" placeholder:"TOKEN" help:"Admin token of the instances. Also ${env}."`
}

type auditFlags struct {
	File string `arg:"" help:"The file."`
}

type reportFlags struct {
	File   string `arg:"" help:"The file."`
	Output string `short:"o" placeholder:"FILE" help:"Where to write the report. Default: beside the file, as .html. Porcupine's pictures go to porcupine/ beside it."`
	SVG    string `name:"svg" placeholder:"FILE" help:"Instead of the report draw the timeline of one cell, as an SVG file that needs nothing else."`
	Cell   string `placeholder:"CELL" help:"Which cell --svg draws, by scenario and rung, such as \"pause v4\". Default: the first one whose stock a fault broke."`
}

type guardianCmd struct{}

const description = `Sells the same product to more buyers than there is stock, through every rung of stockapi's ladder of locks, and proves which rungs oversell.

With no arguments it starts a Redis and the stockapi instances itself, runs every rung over one instance and over two, then kills, stops and delays holders of every lock, and prints the matrix. Fault scenarios have a load of their own; "loadtest list" tells all of them.

Examples:
  loadtest
  loadtest --rungs v0,v4 --scenarios two-instances --repeat 20
  loadtest --rungs v5 --scenarios pause
  loadtest --backend redis://127.0.0.1:6379/5 --json results.json
  loadtest --targets http://127.0.0.1:5000,http://127.0.0.1:5010
  loadtest --join duet --parties 2 --backend redis://10.0.0.5:6379/5
  loadtest audit results.json
  loadtest report results.json -o report.html
  loadtest report results.json --svg picture.svg --cell "pause v4"
  loadtest list v4 pause
  loadtest contract http://127.0.0.1:5000

Exit codes: 0 all as expected; 1 not as expected, in either direction; 2 it could not run, was interrupted, or a cell is not valid: the client or the machine was too slow for it.`

// exited carries kong's wish to exit, after --help, out of the parser.
type exited int

// parse parses the command line. It returns done if there is nothing left to do, as after --help.
func parse(args []string, stdout, stderr io.Writer) (c *commands, command string, done bool, err error) {
	c = &commands{}
	parser, err := kong.New(c, kong.Name("loadtest"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Help(help), kong.Vars{"version": thisBuild()},
		kong.Exit(func(code int) { panic(exited(code)) }))
	if err != nil {
		return nil, "", false, err
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exited); !ok {
				panic(r)
			}
			done = true
		}
	}()
	parsed, err := parser.Parse(args)
	if err != nil {
		return nil, "", false, err
	}
	for _, p := range parsed.Path {
		if p.Flag != nil && (p.Flag.Name == "requests" || p.Flag.Name == "stock") {
			c.Run.sized = append(c.Run.sized, "--"+p.Flag.Name)
		}
	}
	command, _, _ = strings.Cut(parsed.Command(), " ")
	return c, command, false, nil
}

// help prints kong's help, and without a command also that of the command that needs not be named.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	run, err := kong.Trace(ctx.Kong, []string{"run"})
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	return kong.DefaultHelpPrinter(options, run)
}

// check refuses numbers that no run can be made of, and draws the seed if none was given.
func (f *runFlags) check() error {
	if f.Seed == nil {
		seed := rand.Uint64() >> 32 // short enough to type again
		f.Seed = &seed
	}
	if err := f.power(); err != nil {
		return err
	}
	return errors.Join(f.sizes(), f.durations(), f.places(), f.joining())
}

// refused is how many orders more than there is stock a run of a chosen power sends: as many as the usual one.
const refused = 200

// power chooses the size of the load by what is to be excluded, if that was asked for. What never happened in n sales happens
// in fewer than 3/n of them, with a confidence of 95 %.
func (f *runFlags) power() error {
	switch {
	case f.Power == 0:
		return nil
	case !(f.Power >= 1e-6 && f.Power <= 0.5):
		return errors.New("--power must lie between 1e-6 and 0.5")
	case len(f.sized) > 0:
		return fmt.Errorf("--power chooses the size of the load: leave out %s, or --power", strings.Join(f.sized, " and "))
	}
	f.Stock = int64(audit.Needed(f.Power))
	f.Requests = int(f.Stock) + refused
	return nil
}

func (f *runFlags) sizes() error {
	for _, n := range []struct {
		flag             string
		value, low, high int64
	}{
		{"--requests", int64(f.Requests), 1, 10_000_000},
		{"--concurrency", int64(f.Concurrency), 1, 5000},
		{"--stock", f.Stock, 0, 1_000_000_000},
		{"--instances", int64(f.Instances), 2, 32},
		{"--at-once", int64(f.AtOnce), 1, 64},
		{"--repeat", int64(f.Repeat), 1, 1000},
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s must lie between %d and %d", n.flag, n.low, n.high)
		}
	}
	if f.Rate < 0 || f.Rate > 1e6 || (f.Rate > 0 && float64(f.Requests)/f.Rate > 24*3600) {
		return errors.New("--rate must lie between 0 and 1000000, and be done within a day")
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
	for i, t := range f.Targets {
		u, err := url.Parse(t)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
			return fmt.Errorf("--targets: number %d is no URL such as http://127.0.0.1:5000", i+1)
		}
		f.Targets[i] = strings.TrimRight(t, "/")
	}
	if u, err := url.Parse(f.SQL); !slices.Contains(fleet.Databases, f.SQL) && (err != nil || !slices.Contains(databases, u.Scheme)) {
		return fmt.Errorf("--sql: neither %s nor a DSN that begins with one of %s", strings.Join(fleet.Databases, ", "), strings.Join(databases, ", "))
	}
	switch f.Backend {
	case "auto", "embedded", "redis-server":
		return nil
	}
	if u, err := url.Parse(f.Backend); err != nil || !strings.HasPrefix(u.Scheme, "redis") {
		return errors.New("--backend: neither auto, embedded, redis-server nor a URL such as redis://127.0.0.1:6379")
	}
	return nil
}

// bounds raises what the instances accept to what this run asks for; the first value is stockapi's own default.
func (f *runFlags) bounds() fleet.Bounds {
	return fleet.Bounds{Wait: max(time.Minute, f.Wait), TTL: max(10*time.Minute, f.TTL), Work: max(time.Minute, f.Work)}
}
