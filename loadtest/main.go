package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/report/terminal"
)

func main() {
	log.SetOutput(io.Discard) // net/http would print what a service sends unasked
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// execute is the whole program: it parses args, does what they say, and returns the exit code. What was found goes to
// stdout; progress, and why something could not be done, to stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &terminal.Output{Writer: stdout}
	code := do(ctx, args, out, stderr)
	if err := out.Err(); err != nil {
		return complain(stderr, err)
	}
	return code
}

// do is execute, but for what cannot be written to stdout.
func do(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	_, chosen, err := parse(args, stdout, stderr)
	switch {
	case err != nil:
		return complain(stderr, err)
	case chosen == nil:
		return asExpected
	}
	ctx, stop := signal.NotifyContext(ctx, endings()...)
	defer stop()
	// GNU timeout sends two signals. After a second, another Ctrl-C ends it at once; the guardian then cleans up.
	// A Ctrl-C also ended who reads a pipe, such as tee: that must not keep it from ending in order.
	context.AfterFunc(ctx, func() { signal.Ignore(syscall.SIGPIPE); time.AfterFunc(time.Second, stop) })
	return chosen.run(ctx, stdout, stderr)
}

type guardian struct{}

func (guardian) run(context.Context, io.Writer, io.Writer) int {
	cluster.Guard(os.Stdin)
	return asExpected
}

// untilEnd does the work of a command that takes nothing along when it ends in the middle, and returns its exit code.
// It does not wait for the work if ctx ends.
func untilEnd(ctx context.Context, stderr io.Writer, work func() int) int {
	code := make(chan int, 1)
	go func() { code <- work() }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
		return complain(stderr, errInterrupted)
	}
}

// endings are the signals that end a run in order: also that its terminal has gone, unless nohup said to ignore that.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
