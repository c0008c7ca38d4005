package trial

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

const (
	// atShell bounds how long a shell command may take.
	atShell = 5 * time.Second
	// settledAfter is the time between two readings that have to agree.
	settledAfter = 300 * time.Millisecond
	// settledWithin bounds the wait for them.
	settledWithin = 10 * time.Second
)

// errSlow is the error of a shell command that timed out.
var errSlow = fmt.Errorf("it did not end within %s", atShell)

// shell runs a shell command of the user's, and returns its output. The error has its last line. A command that lasts
// may leave processes until the end of the trial.
func (t *Trial) shell(ctx context.Context, line string, lasting bool) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, atShell, errSlow)
	defer cancel()
	out, errs, err := t.bed.Shell(limited, line, lasting)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("%w; %s", err, lastWords(errs))
	}
	return out, err
}

// numberFrom runs a shell command, and returns the number that it printed.
func (t *Trial) numberFrom(ctx context.Context, line string) (int64, error) {
	out, err := t.shell(ctx, line, false)
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
func (t *Trial) settledNumber(ctx context.Context, line string) (n int64, err error) {
	last := int64(-1)
	for begun := time.Now(); time.Since(begun) < settledWithin; {
		if n, err = t.numberFrom(ctx, line); err != nil || n == last {
			return n, err
		}
		last = n
		select {
		case <-time.After(settledAfter):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return 0, fmt.Errorf("the number kept changing for %s", settledWithin)
}
