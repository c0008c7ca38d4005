package lock

import (
	"context"
	"fmt"
)

// sqlSession is v12-session: a lock of the database server itself, MySQL's GET_LOCK or PostgreSQL's advisory lock. It
// belongs to a session, which is a connection. The holder takes a connection from a separate pool for as long as it
// holds the lock, and releases over that connection. It also checks the connection, because the lock ends with it.
// There is no TTL: a holder that is paused keeps its connection and its lock, and one that dies loses both. So the work
// needs no deadline.
// Defect: work that never ends keeps the lock for ever. So does a holder whose connection died without the server
// noticing, until TCP gives the connection up. A holder whose connection broke notices only at the next check.
func sqlSession(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		session, err := openSession(ctx, rt.SQL)
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		ok, err := session.acquire(ctx, key)
		if err != nil {
			session.Discard() // and with it the lock, if it holds it
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			session.GiveBack()
			return nil, ErrBusy
		}
		ctx, stop := rt.watchSession(ctx, min(o.TTL/2, pingInterval), session)
		unlock := func(ctx context.Context) error {
			stop()
			return session.release(ctx, key)
		}
		return &Lease{Context: ctx, Token: newToken(), unlock: unlock}, nil
	}
}
