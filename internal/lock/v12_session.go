package lock

import (
	"context"
	"fmt"
	"time"
)

// sqlSession is v12-session: the database server's own locks, MySQL's GET_LOCK and PostgreSQL's advisory locks. They
// belong to a session, which is a connection: it is taken out of a pool of its own for as long as the lock is held,
// released over, and watched, for the lock ends with it at once. There is no TTL: a holder that is paused keeps its
// connection and its lock, and one that dies loses both. So there is no time by which the work has to be told that it
// may be over.
// Defect: work that never ends keeps the lock for ever, and so does a holder whose connection died without the server
// hearing of it, until TCP gives it up. Whose connection is broken learns of it at the next look, and no sooner.
func sqlSession(b Backends) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		session, err := openSession(ctx, b.SQL)
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		ok, err := session.acquire(ctx, key)
		if err != nil {
			session.Discard() // what it may have got ends with it
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			session.GiveBack()
			return nil, ErrBusy
		}
		ctx, stop := b.watch(ctx, min(ttl/2, lookInterval), session)
		unlock := func(ctx context.Context) error {
			stop()
			return session.release(ctx, key)
		}
		return &Lease{Context: ctx, Token: newToken(), Unlock: unlock}, nil
	}
}
