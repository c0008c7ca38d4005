package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
	away   atomic.Bool   // whether the last round found no quorum
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
	b.sweeps = make(chan struct{}, maxNodeSweeps)
	return &redlockNodes{Backends: b, sync: redsync.New(pools...), rounds: make(chan struct{}, maxRounds)}
}

// How many rounds of acquiring an instance has under way at once, for all locks together. More of them only split the
// nodes between themselves, and a failed round costs every node a SET and a script: a hundred waiters would keep the
// nodes so busy that they answer nobody within the node timeout, and the holder not either.
const (
	maxRounds     = 2
	maxNodeSweeps = 16
)

// A node gets a small share of the TTL to answer, between this and [Backends.RedlockTimeout]: the time that a dead node
// takes from the lease's validity must not matter.
const minNodeTimeout = 5 * time.Millisecond

// timeout sets how long one round over the nodes may take. Redsync wants it as a factor of the TTL.
func (n *redlockNodes) timeout(ttl time.Duration) redsync.Option {
	return redsync.WithTimeoutFactor(float64(n.patience(ttl)) / float64(ttl))
}

// patience returns how long a node has to answer under a lease of that TTL.
func (n *redlockNodes) patience(ttl time.Duration) time.Duration {
	return min(max(ttl/20, minNodeTimeout), n.RedlockTimeout)
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
	if err := n.turn(ctx); err != nil {
		return err
	}
	defer func() { <-n.rounds }()
	err := m.TryLockContext(context.WithoutCancel(ctx))
	if err == nil {
		n.away.Store(false)
		return nil
	}
	n.sweepNodes(m.Name(), token, err)
	err = n.busy(err)
	n.away.Store(errors.Is(err, ErrNoQuorum))
	return err
}

// turn waits for one of the rounds, until the caller's patience is over, though at least for as long as a round takes:
// then it returns what others have found.
func (n *redlockNodes) turn(ctx context.Context) error {
	until := time.Now().Add(2 * n.RedlockTimeout)
	if deadline, ok := ctx.Value(deadlineKey{}).(time.Time); ok && deadline.After(until) {
		until = deadline
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case n.rounds <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	if n.away.Load() {
		return fmt.Errorf("%w: others still ask them", ErrNoQuorum)
	}
	return ErrBusy
}

type deadlineKey struct{}

// patient is a [Waiting] whose attempts know when the patience is over, because they queue for something themselves.
func patient(wait Waiting) Waiting {
	return func(ctx context.Context, key string, patience time.Duration, attempt Attempt) (*Lease, error) {
		ctx = context.WithValue(ctx, deadlineKey{}, time.Now().Add(patience))
		return wait(ctx, key, patience, attempt)
	}
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
	ctx, cancel := context.WithTimeout(ctx, n.RedlockTimeout)
	defer cancel()
	return outcome(m.ExtendContext(ctx))
}

// unlock releases the lock on all nodes, within a time that redsync does not set by itself, and returns ErrLost if
// most of them say that it was not ours.
func (n *redlockNodes) unlock(ctx context.Context, m *redsync.Mutex, token string) error {
	round, cancel := context.WithTimeout(ctx, n.RedlockTimeout)
	defer cancel()
	ok, err := m.UnlockContext(round)
	n.sweepNodes(m.Name(), token, err)
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

// sweepNodes removes what a node may have done late, after a round in which some did not answer: see [Backends.sweep].
// They are asked again each time, since what one of them says is true of that one alone.
func (n *redlockNodes) sweepNodes(key, token string, err error) {
	if unanswered(err) == 0 {
		return
	}
	n.sweep(func(ctx context.Context) error {
		n.undoEverywhere(ctx, key, token)
		return ErrLost
	})
}

func (n *redlockNodes) undoEverywhere(ctx context.Context, key, token string) {
	ctx, cancel := context.WithTimeout(ctx, n.RedlockTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, node := range n.Redlock {
		all.Go(func() { _ = release(ctx, node, key, token) })
	}
	all.Wait()
}
