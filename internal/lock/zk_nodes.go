package lock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-zookeeper/zk"

	"stockapi/internal/backend"
)

// zkNodes has the operations that v13 and v14 share, on ephemeral nodes below one directory for each lock.
//
// The session replaces the TTL; the TTL of a request does not count here. The library keeps the session alive, but does
// not report how long it has heard nothing. So each lease checks its own node at half the session's timeout, through
// [runtime.keepAlive]. An answer shows that the session was alive when the check was sent. Without an answer, the lease
// ends before the server can have ended the session.
type zkNodes struct {
	runtime
	root string
}

const (
	zkRoot       = "/stockapi"
	ephemeralIn  = zkRoot + "/ephemeral"
	sequentialIn = zkRoot + "/sequential"
)

// of returns the directory of a lock's nodes. It escapes the key, since a product's name may have characters that a
// path may not have.
func (z zkNodes) of(key string) string { return z.root + "/" + url.PathEscape(key) }

// create creates nodes, and the nodes above them if they do not exist: ZooKeeper removes a container that has been
// empty for a while.
func (z zkNodes) create(
	ctx context.Context, dir, token string, flags int32, paths ...string,
) (created backend.Created, err error) {
	holder := z.ZooKeeper.Instance() + "/" + token // for operators
	for range 3 {
		created, err = z.ZooKeeper.Create(ctx, dir, holder, flags, paths...)
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		for _, above := range []string{zkRoot, z.root, dir} {
			if err := z.ZooKeeper.Container(ctx, above); err != nil {
				return created, fmt.Errorf("%s: %w", above, err)
			}
		}
	}
	return created, err
}

// indeterminate reports whether an operation that failed may have been carried out.
func indeterminate(err error) bool {
	return !backend.Answered(err) && !errors.Is(err, backend.ErrZooKeeperAway)
}

// findOwned looks for a node of this lease, and returns the number of the transaction that created it. It does not
// count a node of our previous session, which is about to end.
func (z zkNodes) findOwned(ctx context.Context, path string) (zxid int64, found bool, err error) {
	stat, err := z.ZooKeeper.Find(ctx, path)
	if err != nil || stat == nil || stat.EphemeralOwner != z.ZooKeeper.SessionID() {
		return 0, false, err
	}
	return stat.Czxid, true, nil
}

// remove removes nodes of this lease, or returns ErrLost if they did not exist.
func (z zkNodes) remove(ctx context.Context, paths ...string) error {
	err := z.ZooKeeper.Delete(ctx, paths...)
	if errors.Is(err, zk.ErrNoNode) {
		return ErrLost
	}
	if err != nil {
		z.sweep(ctx, func(ctx context.Context) error { return z.ZooKeeper.Delete(ctx, paths...) })
	}
	return err
}

// forgetting is an unlock that also removes the lock's directory, unless others have nodes there: ZooKeeper would do
// that some minutes later.
func (z zkNodes) forgetting(dir string, unlock func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := unlock(ctx)
		if err == nil {
			_ = z.ZooKeeper.Delete(ctx, dir)
		}
		return err
	}
}

// sweep calls remove in the background until there is an answer. A key left in Redis expires, but a node left here
// would stay as long as this process and its session.
func (z zkNodes) sweep(ctx context.Context, remove func(context.Context) error) {
	z.sweepUntil(ctx, time.Now(), remove)
}

// sweepLate is sweep for nodes that may be created late: a create that was on its way through an ensemble when its
// connection broke is carried out later, or never. So the sweep ends only when the nodes do not exist after the timeout
// of a session.
func (z zkNodes) sweepLate(ctx context.Context, remove func(context.Context) error) {
	z.sweepUntil(ctx, time.Now().Add(z.ZooKeeper.Session()), remove)
}

// sweepUntil calls remove until it has removed something, or has found nothing to remove after the time enough.
func (z zkNodes) sweepUntil(ctx context.Context, enough time.Time, remove func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	z.Background.Add(1)
	go func() {
		defer z.Background.Done()
		gap := Backoff(sweepGap, max(sweepGap, z.ZooKeeper.Session()/8), z.Random)
		for n := 1; z.Life.Err() == nil; n++ {
			begun := time.Now()
			err := remove(ctx)
			missing := errors.Is(err, zk.ErrNoNode) && !begun.Before(enough)
			if err == nil || missing || !sleepUntil(z.Life, time.Now().Add(gap(n))) {
				return
			}
		}
	}()
}

const sweepGap = 50 * time.Millisecond

// sessionTries limits the tries of an attempt that a lost connection or session interrupts.
const sessionTries = 3

// retryOverSessions repeats an attempt in a new session if the session ended during the attempt, for example because
// the process was paused. The next attempt uses a new name, and the nodes of the interrupted one are swept.
func retryOverSessions(try TryLock) TryLock {
	return func(ctx context.Context, key string, o Options) (lease *Lease, err error) {
		for range sessionTries {
			lease, err = try(ctx, key, o)
			if !backend.Interrupted(err) || ctx.Err() != nil {
				break
			}
		}
		return lease, err
	}
}

// keepLease keeps a lease alive by checks of its own node. The session was alive at the time since. It has no TTL, so
// the checks go on even with NoRenew.
func (z zkNodes) keepLease(ctx context.Context, since time.Time, own string) (context.Context, func()) {
	session := z.ZooKeeper.Session()
	check := func(tick context.Context) (bool, error) { return z.ZooKeeper.Check(tick, own) }
	return z.keepAlive(ctx, Options{TTL: session}, session/2, z.validUntil(since), check)
}

func (z zkNodes) validUntil(since time.Time) time.Time {
	session := z.ZooKeeper.Session()
	return since.Add(session - drift(session))
}

// awaitRemoval returns true when the node is gone or until has passed, and false when ctx has ended. It also returns
// true if it cannot watch the node, since the next try finds out. It waits for the timeout of a session at most,
// because a notification may get lost.
func (z zkNodes) awaitRemoval(ctx context.Context, node string, until time.Time) bool {
	return z.await(ctx, node, earlier(until, time.Now().Add(z.ZooKeeper.Session())))
}

// await is awaitRemoval without a limit of its own.
func (z zkNodes) await(ctx context.Context, node string, until time.Time) bool {
	ctx, cancel := context.WithDeadlineCause(ctx, until, errUntil)
	defer cancel()
	gone, err := z.ZooKeeper.Watch(ctx, node)
	if err == nil && gone != nil {
		select {
		case <-gone:
			z.reportWake(ctx, Watch, node)
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil || errors.Is(context.Cause(ctx), errUntil)
}

var errUntil = errors.New("the time to wait is over")

// breakNodes is [Backends.Break] for ZooKeeper. It removes the nodes of the holder and of the waiters, which queue
// again. The nodes in a directory go in one transaction; otherwise a holder could mistake another's node for its own.
func (b Backends) breakNodes(ctx context.Context, key string) (removed int64, err error) {
	for _, root := range []string{ephemeralIn, sequentialIn} {
		dir := zkNodes{root: root}.of(key)
		n, failed := b.empty(ctx, dir)
		removed += n
		err = errors.Join(err, failed)
	}
	return removed, err
}

func (b Backends) empty(ctx context.Context, dir string) (removed int64, err error) {
	for range 10 { // clients may come and go meanwhile
		names, failed := b.ZooKeeper.Children(ctx, dir)
		if errors.Is(failed, zk.ErrNoNode) || failed == nil && len(names) == 0 {
			return 0, nil
		}
		err = failed
		if err != nil {
			break
		}
		for i, name := range names {
			names[i] = dir + "/" + name
		}
		if err = b.ZooKeeper.Delete(ctx, names...); err == nil {
			return int64(len(names)), nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
	}
	return 0, err
}
