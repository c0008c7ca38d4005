package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redlockNodes adapts redsync for v6: it interprets redsync's answers, and cleans up after slow nodes.
type redlockNodes struct {
	runtime
	sync     *redsync.Redsync
	rounds   chan struct{} // one place for each round of acquiring that may run at a time
	noQuorum atomic.Bool   // whether the last round found no quorum
}

// The digests of redsync v4.18.0's scripts, which it does not export; see [ScriptNames].
const (
	redsyncReleaseHash = "e950836ed1e694540c503ef9972b8de518044d3b"
	redsyncExtendHash  = "d75bb8b5bd13532ddedd17762e772346e39b321e"
)

func (rt runtime) nodes() *redlockNodes {
	pools := make([]redis.Pool, len(rt.Redlock))
	for i, node := range rt.Redlock {
		pools[i] = goredis.NewPool(node)
	}
	rt.sweeps = make(chan struct{}, maxNodeSweeps)
	return &redlockNodes{runtime: rt, sync: redsync.New(pools...), rounds: make(chan struct{}, maxRounds)}
}

const (
	// maxRounds limits the rounds of acquiring that an instance runs at a time, for all locks. More rounds would only
	// split the nodes between them, and a failed round costs every node a SET and a script: with a hundred waiters the
	// nodes would be too busy to answer anyone, even the holder, within the node timeout.
	maxRounds = 2
	// maxNodeSweeps limits the sweeps in the same way.
	maxNodeSweeps = 16
)

// minNodeTimeout is the shortest time that a node gets to answer. Up to [Backends.RedlockTimeout] the timeout is a
// small share of the TTL, so that a dead node takes little of the lease's validity.
const minNodeTimeout = 5 * time.Millisecond

// timeout limits one round over the nodes. Redsync takes the limit as a factor of the TTL.
func (n *redlockNodes) timeout(ttl time.Duration) redsync.Option {
	return redsync.WithTimeoutFactor(float64(n.nodeTimeout(ttl)) / float64(ttl))
}

// nodeTimeout returns how long a node may take to answer, under a lease of that TTL.
func (n *redlockNodes) nodeTimeout(ttl time.Duration) time.Duration {
	return min(max(ttl/20, minNodeTimeout), n.RedlockTimeout)
}

// withDrift makes redsync count the lease as expired as early as [runtime.keepAlive] does.
func withDrift(ttl time.Duration) redsync.Option {
	return redsync.WithDriftFactor(float64(drift(ttl)) / float64(ttl))
}

// withToken makes redsync use our token, so that we can clean up after a failed acquire.
func withToken(token string) redsync.Option {
	return redsync.WithGenValueFunc(func() (string, error) { return token, nil })
}

// lock makes one round of acquiring. The end of the caller's context does not abort it, because that would also abort
// the release of the nodes that were acquired. A round takes two node timeouts at most.
func (n *redlockNodes) lock(ctx context.Context, m *redsync.Mutex, token string) error {
	if err := n.waitForRound(ctx); err != nil {
		return err
	}
	defer func() { <-n.rounds }()
	err := m.TryLockContext(context.WithoutCancel(ctx))
	if err == nil {
		n.noQuorum.Store(false)
		return nil
	}
	n.sweepNodes(m.Name(), token, err)
	err = n.busy(err)
	n.noQuorum.Store(errors.Is(err, ErrNoQuorum))
	return err
}

// waitForRound waits until the caller may run a round: until its deadline, but at least for as long as a round takes.
// When that time is over, it returns the result of the last round of another caller.
func (n *redlockNodes) waitForRound(ctx context.Context) error {
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
	if n.noQuorum.Load() {
		return fmt.Errorf("%w: rounds of other orders still run", ErrNoQuorum)
	}
	return ErrBusy
}

type deadlineKey struct{}

// withDeadline returns a [Waiting] whose attempts know its deadline. On v6 an attempt waits too, for its round.
func withDeadline(wait Waiting) Waiting {
	return func(ctx context.Context, key string, maxWait time.Duration, attempt Attempt) (*Lease, error) {
		ctx = context.WithValue(ctx, deadlineKey{}, time.Now().Add(maxWait))
		return wait(ctx, key, maxWait, attempt)
	}
}

// busy returns ErrNoQuorum if too many nodes failed for any caller to acquire the lock, and ErrBusy otherwise.
func (n *redlockNodes) busy(err error) error {
	failed := unanswered(err)
	if silent := len(failed); silent > (len(n.Redlock)-1)/2 {
		return fmt.Errorf("%w: %d of %d did not answer or refused: %s", ErrNoQuorum, silent, len(n.Redlock), reasons(failed))
	}
	return ErrBusy
}

// reasons returns why each failed node failed. Nodes are counted from 1, as --redlock lists them. The result is text
// only: the error of a node decides nothing.
func reasons(failed []*redsync.RedisError) string {
	slices.SortFunc(failed, func(a, b *redsync.RedisError) int { return a.Node - b.Node })
	var all []string
	for _, e := range failed {
		all = append(all, fmt.Sprintf("node %d: %v", e.Node+1, e.Err))
	}
	return strings.Join(all, "; ")
}

// extend renews the lock on all nodes. It returns false if too many nodes report that the key is not ours for a
// majority to be left. With an error the outcome is indeterminate.
func (n *redlockNodes) extend(ctx context.Context, m *redsync.Mutex) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, n.RedlockTimeout)
	defer cancel()
	return outcome(m.ExtendContext(ctx))
}

// unlock releases the lock on all nodes, with a timeout, which redsync does not set by itself. It returns ErrLost if
// most nodes report that the lock was not ours.
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

// outcome separates a definite no (most nodes report that the key is not ours, or all nodes answered) from an
// indeterminate outcome, which is an error.
func outcome(ok bool, err error) (bool, error) {
	if ok || len(unanswered(err)) == 0 || errors.As(err, new(*redsync.ErrTaken)) {
		return ok, nil
	}
	return false, err
}

// unanswered returns the errors of the nodes that did not answer, or refused, according to an error of redsync.
func unanswered(err error) (failed []*redsync.RedisError) {
	switch e := err.(type) { //nolint:errorlint // collects the leaves of the tree, so it walks it itself
	case *redsync.RedisError:
		return []*redsync.RedisError{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			failed = append(failed, unanswered(one)...)
		}
	}
	return failed
}

// sweepNodes removes the keys that a node may set late, after a round in which some nodes did not answer: see
// [runtime.sweep]. It asks all nodes again each time, because the answer of one says nothing about the others.
func (n *redlockNodes) sweepNodes(key, token string, err error) {
	if len(unanswered(err)) == 0 {
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
