package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

const (
	// atShell bounds how long a shell command may take.
	atShell = 5 * time.Second
	// SettledAfter is the time between two readings that have to agree.
	SettledAfter = 300 * time.Millisecond
	// settledWithin bounds the wait for them.
	settledWithin = 10 * time.Second
)

// errSlow is the error of a shell command that timed out.
var errSlow = fmt.Errorf("it did not end within %s", atShell)

// shell runs a shell command of the user's, and returns its output. The error has its last line. A command that lasts
// may leave processes until the end of the trial.
func (s *Shop) shell(ctx context.Context, line string, lasting bool) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, atShell, errSlow)
	defer cancel()
	out, errs, err := s.Bed.Shell(limited, line, lasting)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("%w; %s", err, LastWords(errs))
	}
	return out, err
}

// numberFrom runs a shell command, and returns the number that it printed.
func (s *Shop) numberFrom(ctx context.Context, line string) (int64, error) {
	out, err := s.shell(ctx, line, false)
	if err != nil {
		return 0, err
	}
	out = strings.TrimSpace(out)
	n, err := strconv.ParseInt(out, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("it printed %q, not a number: print the number alone", history.Clip(out))
	}
	return n, nil
}

// settledNumber runs a shell command until it has printed the same number twice: writes in flight may still land.
func (s *Shop) settledNumber(ctx context.Context, line string) (n int64, err error) {
	last := int64(-1)
	for begun := time.Now(); time.Since(begun) < settledWithin; {
		if n, err = s.numberFrom(ctx, line); err != nil || n == last {
			return n, err
		}
		last = n
		select {
		case <-time.After(SettledAfter):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return 0, fmt.Errorf("the number kept changing for %s", settledWithin)
}

// LastWords returns the last line of output with an error, or else the last line.
func LastWords(lines []string) string {
	if strings.TrimSpace(strings.Join(lines, "")) == "" {
		return "without any output"
	}
	said := lines[len(lines)-1]
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			said = line
		}
	}
	return "last output: " + history.Clip(strings.TrimSpace(said))
}

// prepareRedis runs the command that prepares a pair's Redis, if it names that. Pairs take turns: two commands that
// create a table at once may fail.
func (s *Shop) prepareRedis(p *Pair) error {
	if !namesRedis(s.Setup) {
		return nil
	}
	s.preparing.Lock()
	defer s.preparing.Unlock()
	return s.setUp(p.Context, p.filled(s.Setup, s.UnitsFor(0)))
}

// setUp runs a command that prepares something.
func (s *Shop) setUp(ctx context.Context, line string) error {
	if _, err := s.shell(ctx, line, true); err != nil {
		return fmt.Errorf("--setup: %w", err)
	}
	return nil
}

// Prepare runs the command that prepares the database, and returns an error if the database cannot be reached.
func (s *Shop) Prepare(ctx context.Context) error {
	if s.Setup != "" && !namesRedis(s.Setup) {
		if err := s.setUp(ctx, s.Setup); err != nil {
			return err
		}
	}
	if s.Database == "" {
		return nil
	}
	conn, err := (&net.Dialer{Timeout: atShell}).DialContext(ctx, "tcp", s.Database)
	if err != nil {
		return fmt.Errorf("--db: %w: start the database, or correct the address", err)
	}
	return conn.Close()
}
