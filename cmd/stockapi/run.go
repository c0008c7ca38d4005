package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"stockapi/internal/backend"
)

// repeatTime is the time after a signal in which another one counts as the same: GNU timeout sends two.
const repeatTime = time.Second

// errUsage marks an error of the command line. Its exit code is 2, as that of errUnprinted; that of every other error
// is 1.
var errUsage = errors.New("see stockapi --help")

// exitCode prints err as one line and returns the code to exit with.
func exitCode(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "stockapi:", err)
	if errors.Is(err, errUsage) || errors.Is(err, errUnprinted) {
		return 2
	}
	return 1
}

// run runs stockapi. It returns when ctx ends, on SIGTERM, SIGHUP or an interrupt, or on an error.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, shutdownSignals()...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(repeatTime, stop) }) // then another signal ends the process at once
	backend.Silence()

	out := &output{Writer: stdout}
	err := runCommand(ctx, args, stdin, out, stderr)
	return cmp.Or(err, out.failure())
}

func runCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "redis":
		return runRedis(ctx, args[1:], stdin, stdout, stderr)
	case "ready":
		return runReady(ctx, args[1:], stdout)
	case "source":
		return runSource(args[1:], stdout)
	case "scripts":
		return runScripts(args[1:], stdout)
	}
	return runServe(ctx, args, stdin, stdout, stderr)
}

// shutdownSignals returns the signals that shut the instance down. SIGHUP is one of them unless it is ignored, as by
// nohup.
func shutdownSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// untilEOF returns a context that ends with ctx or at the end of stdin. The end of stdin shows a child process that its
// parent has gone, even if the parent was killed.
func untilEOF(ctx context.Context, stdin io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	return ctx
}
