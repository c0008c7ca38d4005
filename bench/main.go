// Bench compares the locks of this repository with the libraries that people use, side by side in one run on one Redis.
//
// Read run.go for a run, plan.go for what is measured when, and measure.go for one measurement, on the processes of
// process.go and jvm.go and the server of redis.go. The locks are in package contender, a process that uses them in
// package worker, and the figures, the table, the file and the plots in package report. It is a module of its own, so
// that the libraries stay out of the go.mod of the service.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
	"stockapi/internal/backend"
	"stockapi/loadtest/cluster"
)

// flags say what is compared, and where the figures go.
type flags struct {
	List       bool          `help:"Print the contenders, and how each of them locks and waits."`
	Contenders []string      `placeholder:"NAME,…" help:"Locks to compare. Default: ${compared}."`
	Processes  int           `default:"2" help:"Number of processes."`
	Waiters    []int         `default:"32,8,128" help:"Numbers of workers in each process."`
	Rounds     int           `default:"3" help:"How often everything is measured; the figures are medians."`
	For        time.Duration `default:"1s" help:"Length of each measurement, after a warm-up of a quarter of it."`
	Redis      string        `default:"redis-server" help:"redis-server, to start the one on the PATH, or a URL."`
	Out        string        `placeholder:"DIR" help:"Write every measurement to bench.csv, and plots as SVG, into DIR."`

	contenders []contender.Contender
}

const description = `Compares the locks of this repository with libraries that people use, side by side, in one run on
one Redis: docs/bench.md.

Exit codes: 0 measured; 1 a lock let two in: a unit was sold twice; 2 it could not run, or was interrupted.`

// The exit codes.
const (
	measured    = 0
	broken      = 1
	couldNotRun = 2
)

func main() {
	backend.Silence()
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute is the whole program: it does what args say, and returns the exit code. A run starts this program again as
// its guardian, which ends a redis-server that the run has left, and as its workers.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch {
	case slices.Equal(args, []string{"guardian"}):
		cluster.Guard(stdin)
		return measured
	case slices.Equal(args, []string{"worker"}):
		signal.Ignore(os.Interrupt) // a Ctrl-C of the terminal comes to all; the run ends its workers
		return exitCode(stderr, worker.Serve(stdin, stdout))
	}
	f := flags{}
	if err := f.parse(args, stdout); err != nil {
		return exitCode(stderr, err)
	}
	if f.List {
		for _, c := range contender.All() {
			fmt.Fprintf(stdout, "%-15s %-6s %s\n", c.Name, c.Kind, c.About)
		}
		return measured
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// GNU timeout sends two signals. After a second, another Ctrl-C ends it at once; its children notice.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	return f.run(ctx, stdout, stderr)
}

// exitCode says in one line why it could not run, if so.
func exitCode(stderr io.Writer, err error) int {
	if err == nil {
		return measured
	}
	fmt.Fprintln(stderr, "bench: "+strings.Join(strings.Fields(err.Error()), " "))
	return couldNotRun
}

func (f *flags) parse(args []string, stdout io.Writer) error {
	var names []string
	for _, c := range contender.Default() {
		names = append(names, c.Name)
	}
	parser, err := kong.New(f, kong.Name("bench"), kong.Description(description), kong.Writers(stdout, io.Discard),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Vars{"compared": strings.Join(names, ", ")})
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return fmt.Errorf("%w; see --help", err)
	}
	return f.check()
}

// check finds what the flags name, and refuses what cannot be measured.
func (f *flags) check() (err error) {
	if f.contenders, err = contender.Find(f.Contenders); err != nil {
		return fmt.Errorf("--contenders: %w", err)
	}
	if len(f.Contenders) == 0 {
		f.contenders = contender.Default()
	}
	sorted := slices.Sorted(slices.Values(f.Waiters))
	switch {
	case f.Processes < 1 || f.Processes > 16:
		return errors.New("--processes is 1 to 16")
	case len(sorted) == 0 || sorted[0] < 1 || sorted[len(sorted)-1] > 4096 || len(slices.Compact(sorted)) < len(f.Waiters):
		return errors.New("--waiters are 1 to 4096, each number once")
	case f.Rounds < 1:
		return errors.New("--rounds is at least 1")
	case f.For < 10*time.Millisecond || f.For > 10*time.Minute:
		return errors.New("--for is 10ms to 10m")
	}
	if _, err := exec.LookPath("redis-server"); f.Redis == "redis-server" && err != nil {
		return errors.New("there is no redis-server on the PATH; install it (apt-get install redis-server), " +
			"or name a Redis to use: --redis redis://127.0.0.1:6379")
	}
	return nil
}
