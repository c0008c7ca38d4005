package lock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
)

// A sweep removes a lock that may or may not exist, several times in the background. A command without a reply may be
// executed after the release that was sent later, on another connection. An acquire would then lock others out for a
// whole TTL. Each removal names the lease's own token, so it does no harm however late it is.
//
// The number of sweeps, their length and their tries are limited. The TTL removes what they miss.
const (
	maxSweeps = 1024
	sweepTime = 30 * time.Second
)

// sweepGaps are the delays before the removals of a sweep. A removal that is not answered is repeated.
var sweepGaps = [...]time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 1100 * time.Millisecond}

// releaseOrSweep releases a lock by free, even if ctx has ended. Free returns nil if it removed the lock, and [ErrLost]
// if the lock was not there. If the outcome is indeterminate, a sweep repeats free.
func (rt *runtime) releaseOrSweep(ctx context.Context, free func(ctx context.Context) error) error {
	err := free(detach(ctx))
	if err != nil && !errors.Is(err, ErrLost) {
		rt.sweep(free)
	}
	return err
}

// undo cleans up after an acquire that failed with err, and may have been executed, or may be executed later. It calls
// free at once. A sweep repeats that, unless free removed the lock, or found nothing and nothing can come later.
func (rt *runtime) undo(ctx context.Context, err error, free func(ctx context.Context) error) {
	if backend.Unsent(err) || sqldb.Unsent(err) || errors.Is(err, errNoTable) || notNow(err) {
		return
	}
	found := free(detach(ctx))
	if found == nil || errors.Is(found, ErrLost) && refused(err) {
		return
	}
	rt.sweep(free)
}

// sweep calls free in the background until it has removed something, or has found nothing often enough.
func (rt *runtime) sweep(free func(ctx context.Context) error) {
	select {
	case rt.sweeps <- struct{}{}:
	default:
		return
	}
	rt.Background.Go(func() {
		defer func() { <-rt.sweeps }()
		until := time.Now().Add(sweepTime)
		for _, gap := range sweepGaps {
			for answered := false; !answered; {
				if !sleepUntil(rt.Life, time.Now().Add(gap)) || time.Now().After(until) {
					return
				}
				err := free(rt.Life)
				if err == nil {
					return
				}
				answered = refused(err) && !notNow(err)
			}
		}
	})
}

// refused reports whether the server itself refused a command, so that it will not be executed later. A script may have
// done half of its work.
func refused(err error) bool { return errors.Is(err, ErrLost) || backend.Refused(err) }

// passing has the prefixes of the error replies of a Redis that executes no command for now: a slot moves, it loads its
// data, it has lost its primary or has become a replica, it is full or busy.
var passing = []string{"TRYAGAIN ", "MOVED ", "ASK ", "CLUSTERDOWN ", "LOADING ", "MASTERDOWN ", "READONLY ",
	"NOREPLICAS ", "MISCONF ", "OOM ", "BUSY ", "max number of clients "}

// notNow reports whether Redis refused a command before it did any of its work, and may accept it soon. So an acquire
// needs no undoing, and to a removal it is no answer.
func notNow(err error) bool {
	return slices.ContainsFunc(passing, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}
