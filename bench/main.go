// Bench compares the locks of this repository with the libraries that people use, side by side in one run on one Redis.
//
// Read flags.go for the settings, plan.go for what is measured when, and measure.go for one measurement. The locks are
// in package contender, a process that uses them in package worker, the processes in package fleet, the arithmetic in
// package figures, and what is printed and drawn in package report. It is a module of its own, so that the libraries
// stay out of the go.mod of the service.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"stockapi/bench/contender"
	"stockapi/bench/fleet"
	"stockapi/bench/worker"
	"stockapi/internal/backend"
)

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

// execute is the whole program: it parses args, does what they say, and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, command, done, err := parse(args, stdout)
	switch {
	case err != nil:
		return complain(stderr, err)
	case done:
		return measured
	}
	switch command {
	case "worker":
		err = worker.Serve(stdin, stdout)
	case "keeper":
		err = fleet.Keep(c.Keeper.Path, stdin, stdout)
	case "list":
		list(stdout)
	default:
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		// GNU timeout sends two signals. After a second, another Ctrl-C ends it at once; its children notice.
		context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
		return c.Run.run(ctx, stdout, stderr)
	}
	if err != nil {
		return complain(stderr, err)
	}
	return measured
}

func list(stdout io.Writer) {
	for _, c := range contender.All() {
		fmt.Fprintf(stdout, "%-15s %-6s %s\n", c.Name, c.Kind, c.About)
	}
}

// complain says in one line why it could not run.
func complain(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "bench: "+strings.Join(strings.Fields(err.Error()), " "))
	return couldNotRun
}
