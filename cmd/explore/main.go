// Explore runs every order in which the commands of two clients can reach Redis, on the real code of each rung, and
// prints the shortest one that goes wrong.
//
// Read flags.go for the settings, run.go for the exploration, print.go for the output, and json.go for the file. The
// search itself is in package explore.
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
	os.Args = os.Args[:1] // those of package testing do not apply
	backend.Silence()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // a schedule keeps little memory, but allocates a lot
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, args, os.Stdout, os.Stderr, inTest)
	stop()
	os.Exit(code)
}

// execute is the whole program: it parses args, carries them out, and returns the exit code. It stops at once when the
// context ends.
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
