package backend

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// sendOnce is a hook for each node of a cluster client. The cluster client repeats a command after an error, up to
// MaxRedirects times and whatever MaxRetries says: that is how it follows MOVED and ASK. It also repeats a command
// whose reply was lost, and that one may have been executed. So the hook turns such an error into [indeterminate],
// which the client does not repeat but returns. Commands that Redis refused, or that were never sent, are still
// repeated.
type sendOnce struct{}

// indeterminate is the error of a command that may have been executed. It has no Unwrap: go-redis decides by errors.Is
// and errors.As on the cause whether to repeat a command.
type indeterminate struct{ cause error }

func (e indeterminate) Error() string { return e.cause.Error() }

// DialHook is part of redis.Hook. Connecting may be repeated.
func (sendOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is part of redis.Hook.
func (sendOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return markIndeterminate(next(ctx, cmd)) }
}

// ProcessPipelineHook is part of redis.Hook. A command that follows an ASK is also sent as a pipeline, after ASKING. A
// transaction is not changed: go-redis repeats it only if EXEC was not reached.
func (sendOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !transaction(cmds) {
			cmds = withoutRetry(cmds)
		}
		return markIndeterminate(next(ctx, cmds))
	}
}

// transaction reports whether these commands are sent between MULTI and EXEC.
func transaction(cmds []redis.Cmder) bool {
	return len(cmds) > 0 && strings.EqualFold(cmds[len(cmds)-1].Name(), "exec")
}

// withoutRetry returns the commands of a pipeline, marked as not to be repeated. In a pipeline go-redis decides before
// a hook sees the error.
func withoutRetry(cmds []redis.Cmder) []redis.Cmder {
	marked := make([]redis.Cmder, len(cmds))
	for i, cmd := range cmds {
		marked[i] = once{cmd}
	}
	return marked
}

type once struct{ redis.Cmder }

func (once) NoRetry() bool { return true }

// markIndeterminate returns an indeterminate for an error, unless the command was refused or never sent. It leaves the
// errors of a context as they are: go-redis does not repeat those commands, and callers look for these errors.
func markIndeterminate(err error) error {
	switch {
	case err == nil, Refused(err), Unsent(err):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		return indeterminate{err}
	}
	return err
}

// Refused reports whether Redis itself refused a command, by an error reply.
func Refused(err error) bool {
	var word redis.Error
	return errors.As(err, &word)
}

// Unsent reports whether a command was never sent, because there was no connection.
func Unsent(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "dial"
	}
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.Is(err, redis.ErrClosed)
}
