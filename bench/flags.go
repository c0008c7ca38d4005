package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

// commands is the command line.
type commands struct {
	Run    runFlags  `cmd:"" default:"withargs" help:"Compare. This is the default."`
	List   struct{}  `cmd:"" help:"Print the contenders, and how each of them locks and waits."`
	Worker struct{}  `cmd:"" hidden:"" help:"Be a worker process: package worker."`
	Keeper keeperArg `cmd:"" hidden:"" help:"Keep a redis-server until the input ends: package fleet."`
}

type keeperArg struct {
	Path string `arg:""`
}

// runFlags say what is compared, and where the figures go.
type runFlags struct {
	Contenders []string      `placeholder:"NAME,…" help:"Locks to compare: ${contenders}. Default: ${compared}."`
	Workloads  []string      `default:"free,hot" help:"${workloads} ${default}."`
	Processes  []int         `default:"2,1,4" help:"${processes} ${default}."`
	Waiters    []int         `default:"32,1,8,128,512" help:"${waiters} ${default}."`
	Rounds     int           `default:"5" help:"How often everything is measured; the figures are medians. ${default}."`
	For        time.Duration `default:"2s" help:"${for} ${default}."`
	Redis      string        `placeholder:"URL" help:"${redis}"`
	JSON       string        `name:"json" placeholder:"FILE" help:"Also write every figure of every round to a file."`
	HTML       string        `name:"html" placeholder:"FILE" help:"${html}"`

	contenders []contender.Contender
	workloads  []worker.Workload
}

// helpTexts are the help texts that have no room in a tag, and the lists in them.
func helpTexts() kong.Vars {
	return kong.Vars{
		"contenders": names(contender.All()), "compared": names(contender.Default()),
		"workloads": "free: each worker acquires and releases a lock of its own. " +
			"hot: one lock for all; acquire, GET stock, SET stock-1, release.",
		"processes": "Numbers of processes. The first belongs to the table and to the lines; the others are measured " +
			"with the first number of waiters.",
		"waiters": "Numbers of workers in each process. The first belongs to the table; the others are measured with " +
			"the first number of processes, hot alone: on free locks nobody waits.",
		"for":   "Length of each measurement, after a warm-up of a quarter of it.",
		"redis": "The Redis to use. Default: a redis-server is started on a free port.",
		"html":  "Also write a page with plots. It needs no network and no JavaScript.",
	}
}

const description = `Compares the locks of this repository with libraries that people use, side by side, in one run on
one Redis. Each lock runs in real processes and waits in its own way. Every ratio is to the best of those libraries.

Examples:
  bench
  bench --processes 2 --waiters 32 --rounds 3
  bench --contenders v4,v8,redsync --workloads hot --waiters 8,64,512 --html bench.html
  bench --redis redis://127.0.0.1:6379/5 --json bench.json
  bench list

Exit codes: 0 measured; 1 a lock let two in: a unit was sold twice; 2 it could not run, or was interrupted.`

// exited carries kong's wish to exit, after --help, out of the parser.
type exited int

// parse parses the command line. It returns done if there is nothing left to do, as after --help.
func parse(args []string, stdout io.Writer) (c *commands, command string, done bool, err error) {
	c = &commands{}
	parser, err := kong.New(c, kong.Name("bench"), kong.Description(description), kong.Writers(stdout, io.Discard),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Help(help),
		helpTexts(),
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
		return nil, "", false, fmt.Errorf("%w; see --help", err)
	}
	command, _, _ = strings.Cut(parsed.Command(), " ")
	if command == "run" {
		err = c.Run.check()
	}
	return c, command, false, err
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

func names(list []contender.Contender) string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// The most that a run may start: more would measure the machine's limits.
const (
	mostProcesses = 16
	mostWaiters   = 4096
	longestFor    = 10 * time.Minute
)

// check finds what the flags name, and refuses what cannot be measured.
func (f *runFlags) check() (err error) {
	if f.contenders, err = contender.Find(trimmed(f.Contenders)); err != nil {
		return fmt.Errorf("--contenders: %w", err)
	}
	if len(f.Contenders) == 0 {
		f.contenders = contender.Default()
	}
	for _, name := range trimmed(f.Workloads) {
		w := worker.Workload(name)
		if w != worker.Free && w != worker.Hot {
			return fmt.Errorf("--workloads: there is no workload %q; there are %s, %s", name, worker.Free, worker.Hot)
		}
		f.workloads = append(f.workloads, w)
	}
	switch {
	case !within(f.Processes, mostProcesses):
		return fmt.Errorf("--processes are 1 to %d, each number once", mostProcesses)
	case !within(f.Waiters, mostWaiters):
		return fmt.Errorf("--waiters are 1 to %d, each number once", mostWaiters)
	case len(f.workloads) == 0:
		return errors.New("--workloads names none")
	case f.Rounds < 1:
		return errors.New("--rounds is at least 1")
	case f.For < 10*time.Millisecond || f.For > longestFor:
		return fmt.Errorf("--for is 10ms to %s", longestFor)
	}
	return nil
}

func trimmed(names []string) (out []string) {
	for _, name := range names {
		out = append(out, strings.TrimSpace(name))
	}
	return out
}

// within reports whether there are numbers, all from 1 to most, and none twice.
func within(numbers []int, most int) bool {
	sorted := slices.Sorted(slices.Values(numbers))
	return len(sorted) > 0 && sorted[0] >= 1 && sorted[len(sorted)-1] <= most &&
		len(slices.Compact(sorted)) == len(numbers)
}
