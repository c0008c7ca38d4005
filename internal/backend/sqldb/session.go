package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrSessionsTaken means that all sessions are in use.
var ErrSessionsTaken = errors.New("all sessions with the database are in use")

// sessions is a pool of connections for session-bound locks. It is separate from the pool for statements: a holder
// keeps its connection for as long as it works, and a few holders would leave no connection to renew a lease.
type sessions struct {
	pool *sql.DB
	free chan struct{} // one element for each free session
}

// idleSession bounds how long an unused connection is kept open.
const idleSession = time.Minute

func openSessions(open func() (*sql.DB, error), size int) (sessions, error) {
	pool, err := open()
	if err != nil {
		return sessions{}, err
	}
	pooled(pool, size)
	pool.SetConnMaxIdleTime(idleSession)
	s := sessions{pool, make(chan struct{}, size)}
	for range size {
		s.free <- struct{}{}
	}
	return s, nil
}

func (s sessions) close() error {
	if s.pool == nil {
		return nil
	}
	return s.pool.Close()
}

// A Session is a connection for one user, until it is given back or discarded.
type Session struct {
	*sql.Conn
	free func() // marks the session as free, once
}

// Session takes a connection from the pool, or connects. If all are in use, it does not wait but returns
// [ErrSessionsTaken].
func (d *DB) Session(ctx context.Context) (*Session, error) {
	select {
	case <-d.sessions.free:
	default:
		return nil, fmt.Errorf("%w: %d", ErrSessionsTaken, cap(d.sessions.free))
	}
	free := sync.OnceFunc(func() { d.sessions.free <- struct{}{} })
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	conn, err := d.sessions.pool.Conn(ctx)
	if err != nil {
		free()
		return nil, err
	}
	return &Session{conn, free}, nil
}

// GiveBack returns the connection to the pool.
func (s *Session) GiveBack() {
	_ = s.Close()
	s.free()
}

// Discard closes the connection, so that the server ends the session and its locks.
func (s *Session) Discard() {
	_ = s.Raw(func(any) error { return driver.ErrBadConn })
	s.GiveBack()
}

// SessionStats returns the statistics of the pool.
func (d *DB) SessionStats() sql.DBStats { return d.sessions.pool.Stats() }
