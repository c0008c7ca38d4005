package backend

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// sendOnce is a hook for each node of a cluster client. The cluster client repeats a command after an error, for
// MaxRedirects times and whatever MaxRetries says; that is how it follows MOVED and ASK. It repeats one as well whose
// reply was lost, and that one may have been carried out. So the hook turns such an error into an [inDoubt], which the
// client hands to the caller. What Redis has refused, and what was never sent, is still repeated.
type sendOnce struct{}

// inDoubt is the error of a command that may have been carried out. It keeps what it stands for out of errors.Is and
// errors.As, as those are how go-redis finds out what it may repeat.
type inDoubt struct{ cause error }

func (e inDoubt) Error() string { return e.cause.Error() }

// DialHook is part of redis.Hook; connecting may be repeated.
func (sendOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is part of redis.Hook.
func (sendOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return doubted(next(ctx, cmd)) }
}

// ProcessPipelineHook is part of redis.Hook. A command that follows an ASK is sent like this too, behind an ASKING. A
// transaction is left as it is: go-redis sends it again only when EXEC cannot have been reached.
func (sendOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !transaction(cmds) {
			cmds = unrepeated(cmds)
		}
		return doubted(next(ctx, cmds))
	}
}

// transaction reports whether these commands are sent between MULTI and EXEC.
func transaction(cmds []redis.Cmder) bool {
	return len(cmds) > 0 && strings.EqualFold(cmds[len(cmds)-1].Name(), "exec")
}

// unrepeated returns the commands of a pipeline, marked as ones not to be repeated: there go-redis decides before a hook
// sees the error.
func unrepeated(cmds []redis.Cmder) []redis.Cmder {
	marked := make([]redis.Cmder, len(cmds))
	for i, cmd := range cmds {
		marked[i] = once{cmd}
	}
	return marked
}

type once struct{ redis.Cmder }

func (once) NoRetry() bool { return true }

// doubted returns an inDoubt for every error but those of a command that was refused, or never sent. Those of a context
// are not repeated by go-redis either, and callers look for them.
func doubted(err error) error {
	switch {
	case err == nil, Refused(err), Unsent(err):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		return inDoubt{err}
	}
	return err
}

// Refused reports whether a command failed by the word of Redis itself.
func Refused(err error) bool {
	var word redis.Error
	return errors.As(err, &word)
}

// Unsent reports whether a command failed for want of a connection, so that it was never sent.
func Unsent(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "dial"
	}
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}
