package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redlockNodes is what v6 needs around redsync: what its answers mean, and tidying up after nodes that were slow.
type redlockNodes struct {
	Backends
	sync   *redsync.Redsync
	rounds chan struct{} // as many acquires as may be under way at once
	sweeps chan struct{} // as many sweeps
}

// The digests of redsync v4.18.0's scripts, which it keeps to itself; see [ScriptNames].
const (
	redsyncReleaseHash = "e950836ed1e694540c503ef9972b8de518044d3b"
	redsyncExtendHash  = "d75bb8b5bd13532ddedd17762e772346e39b321e"
)

func (b Backends) nodes() *redlockNodes {
	pools := make([]redis.Pool, len(b.Redlock))
	for i, node := range b.Redlock {
		pools[i] = goredis.NewPool(node)
	}
	return &redlockNodes{Backends: b, sync: redsync.New(pools...), rounds: make(chan struct{}, maxRounds),
		sweeps: make(chan struct{}, maxSweeps)}
}

// How many rounds of acquiring an instance has under way at once, for all locks together. More of them only split the
// nodes between themselves, and a failed round costs every node a SET and a script: a hundred waiters would keep the
// nodes so busy that they answer nobody within the node timeout, and the holder not either.
const (
	maxRounds = 2
	maxSweeps = 16
)

// A node gets a small share of the TTL to answer, between these bounds: the time that a dead node takes from the
// lease's validity must not matter.
const (
	minNodeTimeout = 5 * time.Millisecond
	maxNodeTimeout = 50 * time.Millisecond
)

// nodeTimeout sets how long one round over the nodes may take. Redsync wants it as a factor of the TTL.
func nodeTimeout(ttl time.Duration) redsync.Option {
	timeout := min(max(ttl/20, minNodeTimeout), maxNodeTimeout)
	return redsync.WithTimeoutFactor(float64(timeout) / float64(ttl))
}

// withDrift makes redsync give the lock up as early as [Backends.keepAlive] does.
func withDrift(ttl time.Duration) redsync.Option {
	return redsync.WithDriftFactor(float64(drift(ttl)) / float64(ttl))
}

// withToken makes redsync use our token, so that we can tidy up after an acquire that failed.
func withToken(token string) redsync.Option {
	return redsync.WithGenValueFunc(func() (string, error) { return token, nil })
}

// lock makes one round of acquiring. A round takes two node timeouts at most, so it is not cut short: a caller that has
// gone would take the release of what was acquired with it.
func (n *redlockNodes) lock(ctx context.Context, m *redsync.Mutex, token string) error {
	select {
	case n.rounds <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-n.rounds }()
	err := m.TryLockContext(context.WithoutCancel(ctx))
	if err == nil {
		return nil
	}
	n.sweep(ctx, m.Name(), token, err)
	return n.busy(err)
}

// busy says what a failed round means: ErrNoQuorum if so many nodes did not answer that nobody could have the lock,
// else ErrBusy.
func (n *redlockNodes) busy(err error) error {
	if away := unanswered(err); away > (len(n.Redlock)-1)/2 {
		return fmt.Errorf("%w: %d of %d are away", ErrNoQuorum, away, len(n.Redlock))
	}
	return ErrBusy
}

// extend renews the lock on all nodes. It returns false if so many nodes say that the key is not ours that there is no
// majority left; with an error neither is known.
func (n *redlockNodes) extend(ctx context.Context, m *redsync.Mutex) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxNodeTimeout)
	defer cancel()
	return outcome(m.ExtendContext(ctx))
}

// unlock releases the lock on all nodes, within a time that redsync does not set by itself, and returns ErrLost if
// most of them say that it was not ours.
func (n *redlockNodes) unlock(ctx context.Context, m *redsync.Mutex, token string) error {
	round, cancel := context.WithTimeout(ctx, maxNodeTimeout)
	defer cancel()
	ok, err := m.UnlockContext(round)
	n.sweep(ctx, m.Name(), token, err)
	ok, err = outcome(ok, err)
	if err == nil && !ok {
		return ErrLost
	}
	return err
}

// outcome tells a clear no (most nodes say that the key is not ours, or all answered) from no answer.
func outcome(ok bool, err error) (bool, error) {
	if ok || unanswered(err) == 0 || errors.As(err, new(*redsync.ErrTaken)) {
		return ok, nil
	}
	return false, err
}

// unanswered counts the nodes that gave no answer, in an error of redsync.
func unanswered(err error) int {
	switch e := err.(type) { //nolint:errorlint // counts the leaves of the tree, so it walks it itself
	case *redsync.RedisError:
		return 1
	case interface{ Unwrap() []error }:
		n := 0
		for _, one := range e.Unwrap() {
			n += unanswered(one)
		}
		return n
	}
	return 0
}

// sweepAfter are the moments at which a sweep looks at the nodes again.
var sweepAfter = [...]time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}

// sweep removes what a node did late. A node that answered too late may apply the SET after the release that was sent
// behind it on another connection, and would then refuse everybody for a whole TTL. So after a round with unanswered
// nodes the key is removed again, a few times, in the background. What that misses, the TTL removes.
func (n *redlockNodes) sweep(ctx context.Context, key, token string, err error) {
	if unanswered(err) == 0 {
		return
	}
	select {
	case n.sweeps <- struct{}{}:
	default:
		return
	}
	n.Background.Add(1)
	go func() {
		defer n.Background.Done()
		defer func() { <-n.sweeps }()
		start := time.Now()
		for _, after := range sweepAfter {
			if !sleepUntil(n.Life, start.Add(after)) {
				return
			}
			n.undoEverywhere(ctx, key, token)
		}
	}()
}

func (n *redlockNodes) undoEverywhere(ctx context.Context, key, token string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxNodeTimeout)
	defer cancel()
	done := make(chan struct{}, len(n.Redlock))
	for _, node := range n.Redlock {
		go func() {
			_ = release(ctx, node, key, token)
			done <- struct{}{}
		}()
	}
	for range n.Redlock {
		<-done
	}
}
