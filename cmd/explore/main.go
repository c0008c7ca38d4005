// Explore runs every order in which the commands of two clients can reach Redis, on the real code of each rung, and
// prints the shortest one that goes wrong.
//
// flags.go has the command line, run.go the run, print.go its output, and json.go the file of --json. Package explore
// has the search.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"testing"

	"stockapi/internal/backend"
	"stockapi/loadtest/report/terminal"
)

func main() {
	args := os.Args[1:]
	os.Args = os.Args[:1] // testing.Main would parse the rest
	backend.Silence()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // schedules make much garbage, and keep little
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, args, os.Stdout, os.Stderr, inTest)
	stop()
	os.Exit(code)
}

// execute is the whole program: it runs with args, and returns the exit code. It stops at once when ctx ends.
func execute(
	ctx context.Context, args []string, stdout, stderr io.Writer, within func(func(*testing.T) int) int,
) int {
	out := &terminal.Output{Writer: stdout}
	printed := func(code int) int {
		if err := out.Err(); err != nil {
			return complain(stderr, err)
		}
		return code
	}
	f, done, err := parse(args, out)
	switch {
	case err != nil:
		return complain(stderr, err)
	case done:
		return printed(asExpected)
	}
	return within(func(t *testing.T) int { return printed(f.run(ctx, t, out, stderr)) })
}

// inTest calls do with a test, which testing/synctest needs for its bubbles, and exits with do's code.
func inTest(do func(*testing.T) int) int {
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "explore", F: func(t *testing.T) { os.Exit(do(t)) }}}, nil, nil)
	return couldNotRun // testing.Main does not return
}
