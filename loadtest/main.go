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
	cluster.GuardMain()       // does not return in a process that a run has started
	log.SetOutput(io.Discard) // net/http logs unsolicited responses
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// execute is the whole program: it runs the command of args, and returns the exit code. Results go to stdout, progress
// and errors to stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &terminal.Output{Writer: stdout}
	code := do(ctx, args, out, stderr)
	if err := out.Err(); err != nil {
		return complain(stderr, err)
	}
	return code
}

// do is execute, without the check that stdout could be written.
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
	// Within a second further signals are ignored, as GNU timeout sends two. Later ones end the program at once, and the
	// guardian cleans up. A Ctrl-C also ends the reader of a pipe, such as tee: writing to it must not end the program.
	context.AfterFunc(ctx, func() { signal.Ignore(syscall.SIGPIPE); time.AfterFunc(time.Second, stop) })
	return chosen.run(ctx, stdout, stderr)
}

// untilEnd does the work of a command, and returns its exit code. If ctx ends it does not wait for the work, which must
// be safe to abandon.
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

// endings returns the signals that end a run in order. SIGHUP is one of them unless nohup ignores it.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
