package lock

import (
	"context"
	"errors"
	"time"

	"stockapi/internal/backend"
)

// A sweep removes a lock of which nobody knows whether it is there, again and again in the background. A command whose
// reply did not come may be carried out later than the release that was sent after it, on another connection: an acquire
// that is would keep everybody out for a whole TTL. Each removal is of the lease's own token, which nobody else has, so
// it does no harm however late it comes.
//
// There is a bound to how many sweeps there are at a time, how long one lasts, and how often it is answered. What it
// misses, the TTL removes.
const (
	maxSweeps = 1024
	sweepTime = 30 * time.Second
)

// sweepGaps lie before each answered removal of a sweep. A removal that is not answered is made again.
var sweepGaps = [...]time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 1100 * time.Millisecond}

// giveBack releases a lock by free, which returns nil when it was there and [ErrLost] when it was not, whatever has
// become of ctx. If that has no clear outcome, a sweep goes on with it.
func (b Backends) giveBack(ctx context.Context, free func(ctx context.Context) error) error {
	ctx, cancel := detach(ctx)
	defer cancel()
	err := free(ctx)
	if err != nil && !errors.Is(err, ErrLost) {
		b.sweep(free)
	}
	return err
}

// undo is for an acquire that failed with err: it may have been carried out, or will be. So free is called at once, and
// unless it finds something, by a sweep.
func (b Backends) undo(ctx context.Context, err error, free func(ctx context.Context) error) {
	if backend.Unsent(err) {
		return
	}
	ctx, cancel := detach(ctx)
	defer cancel()
	found := free(ctx)
	if found == nil || errors.Is(found, ErrLost) && refused(err) {
		return
	}
	b.sweep(free)
}

// sweep calls free in the background, until it has found something or has been answered often enough.
func (b Backends) sweep(free func(ctx context.Context) error) {
	select {
	case b.sweeps <- struct{}{}:
	default:
		return
	}
	b.Background.Go(func() {
		defer func() { <-b.sweeps }()
		until := time.Now().Add(sweepTime)
		for _, gap := range sweepGaps {
			for answered := false; !answered; {
				if !sleepUntil(b.Life, time.Now().Add(gap)) || time.Now().After(until) {
					return
				}
				err := free(b.Life)
				if err == nil {
					return
				}
				answered = errors.Is(err, ErrLost) || refused(err)
			}
		}
	})
}

// refused reports whether a command failed by the word of Redis itself, so that nothing of it comes later. A script may
// have done half of its work.
func refused(err error) bool { return errors.Is(err, ErrLost) || backend.Refused(err) }
