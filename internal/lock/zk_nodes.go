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

// zkNodes is what v13 and v14 have in common: nodes that end with their maker's session, below a node for each lock.
//
// A session takes the place of the TTL: what a request asks for as ttl does not count here. The library keeps the
// session alive and does not say since when it has heard nothing. So each lease asks after its own node at half the
// session's timeout, through [Backends.keepAlive]: an answer shows that the session was alive when it was sent, and
// without one the lease is given up before the server can have ended the session.
type zkNodes struct {
	Backends
	root string
}

const (
	zkRoot       = "/stockapi"
	ephemeralIn  = zkRoot + "/ephemeral"
	sequentialIn = zkRoot + "/sequential"
)

// of returns the node below which the nodes of a lock lie. A product's name may hold what a path may not.
func (z zkNodes) of(key string) string { return z.root + "/" + url.PathEscape(key) }

// make makes nodes, and the nodes above them if they are not there: a container goes when it has been empty for a while.
func (z zkNodes) make(ctx context.Context, dir, token string, flags int32, paths ...string) (made backend.Created, err error) {
	holder := z.ZooKeeper.Instance() + "/" + token // for the operator who asks whose node it is
	for range 3 {
		made, err = z.ZooKeeper.Create(ctx, dir, holder, flags, paths...)
		if !errors.Is(err, zk.ErrNoNode) {
			break
		}
		for _, above := range []string{zkRoot, z.root, dir} {
			if err := z.ZooKeeper.Container(ctx, above); err != nil {
				return made, fmt.Errorf("%s: %w", above, err)
			}
		}
	}
	return made, err
}

// unclear reports whether an operation that failed may have been carried out.
func unclear(err error) bool {
	return !backend.Answered(err) && !errors.Is(err, backend.ErrZooKeeperAway)
}

// ours returns the number of the transaction that made a node whose name is this lease's own. A node that the session
// before this one made is about to end, and not ours.
func (z zkNodes) ours(ctx context.Context, path string) (zxid int64, found bool, err error) {
	stat, err := z.ZooKeeper.Find(ctx, path)
	if err != nil || stat == nil || stat.EphemeralOwner != z.ZooKeeper.SessionID() {
		return 0, false, err
	}
	return stat.Czxid, true, nil
}

// remove removes nodes of this lease, and returns ErrLost if they were not there.
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

// sweep calls remove in the background until there is an answer. A key that is left in Redis ends with its TTL; a node
// that is left here would stay for as long as this process, and its session, do.
func (z zkNodes) sweep(ctx context.Context, remove func(context.Context) error) {
	z.sweepUntil(ctx, time.Now(), remove)
}

// sweepLate is sweep for nodes that may be made only after somebody looked for them: a create that was on its way
// through an ensemble when its connection broke is carried out later, or never. So that they are not there is believed
// when it has been so for as long as a session lasts.
func (z zkNodes) sweepLate(ctx context.Context, remove func(context.Context) error) {
	z.sweepUntil(ctx, time.Now().Add(z.ZooKeeper.Session()), remove)
}

// sweepUntil calls remove until it has removed something, or there was nothing to be removed at that time or later.
func (z zkNodes) sweepUntil(ctx context.Context, enough time.Time, remove func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	z.Background.Add(1)
	go func() {
		defer z.Background.Done()
		gap := Backoff(sweepGap, max(sweepGap, z.ZooKeeper.Session()/8))
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

// sessionTries is how often an attempt is made whose connection or session ends on the way.
const sessionTries = 3

// overSessions makes an attempt anew in the next session if the one before ended on the way, as it does while a process
// is paused. What the attempt may have made has been looked for, and is swept: the next one has a name of its own.
func overSessions(try TryLock) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (lease *Lease, err error) {
		for range sessionTries {
			lease, err = try(ctx, key, ttl)
			if !backend.Interrupted(err) || ctx.Err() != nil {
				break
			}
		}
		return lease, err
	}
}

// keep keeps the lease whose own node that is, from the moment before something showed that the session was alive.
func (z zkNodes) keep(ctx context.Context, since time.Time, own string) (context.Context, func()) {
	session := z.ZooKeeper.Session()
	return z.keepAlive(ctx, session, session/2, z.validUntil(since), func(tick context.Context) (bool, error) {
		return z.ZooKeeper.Check(tick, own)
	})
}

func (z zkNodes) validUntil(since time.Time) time.Time {
	session := z.ZooKeeper.Session()
	return since.Add(session - drift(session))
}

// awaitRemoval returns true when the node is gone or until is reached, and false when ctx ended. If that cannot be
// known, the next try finds out. Nor is any news waited for longer than a session lasts, in case it got lost.
func (z zkNodes) awaitRemoval(ctx context.Context, node string, until time.Time) bool {
	until = earlier(until, time.Now().Add(z.ZooKeeper.Session()))
	ctx, cancel := context.WithDeadlineCause(ctx, until, errUntil)
	defer cancel()
	gone, err := z.ZooKeeper.Watch(ctx, node)
	if err == nil && gone != nil {
		select {
		case <-gone:
			z.woke(ctx, Watch, node)
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil || errors.Is(context.Cause(ctx), errUntil)
}

var errUntil = errors.New("the time is over")

// breakNodes removes the nodes of a lock, and of those who queue for it: they queue again. What belongs together goes
// in one transaction, or a holder could mistake another's node for its own.
func (b Backends) breakNodes(ctx context.Context, key string) (removed int64, err error) {
	for _, root := range []string{ephemeralIn, sequentialIn} {
		dir := zkNodes{b, root}.of(key)
		n, failed := b.empty(ctx, dir)
		removed += n
		err = errors.Join(err, failed)
	}
	return removed, err
}

func (b Backends) empty(ctx context.Context, dir string) (removed int64, err error) {
	for range 10 { // somebody may come or go meanwhile
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
