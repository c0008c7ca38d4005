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

// ErrSessionsTaken says that as many sessions are taken as there may be.
var ErrSessionsTaken = errors.New("all sessions with the database are in use")

// sessions are the connections that are lent one by one. They are a pool of their own, as who holds a lock by a session
// keeps its connection for as long as the work takes: out of the pool of statements, some holders would leave none to
// those who renew a lease.
type sessions struct {
	pool *sql.DB
	free chan struct{} // one for each that may still be taken
}

// idleSession is how long a connection that nobody has taken is kept.
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

// A Session is a connection that is the taker's alone, until it is given back or discarded.
type Session struct {
	*sql.Conn
	giveUp func() // frees its place, once
}

// Session takes a connection, and connects if need be. It does not wait for one that others have: then it returns
// [ErrSessionsTaken].
func (d *DB) Session(ctx context.Context) (*Session, error) {
	select {
	case <-d.sessions.free:
	default:
		return nil, fmt.Errorf("%w: %d", ErrSessionsTaken, cap(d.sessions.free))
	}
	giveUp := sync.OnceFunc(func() { d.sessions.free <- struct{}{} })
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	conn, err := d.sessions.pool.Conn(ctx)
	if err != nil {
		giveUp()
		return nil, err
	}
	return &Session{conn, giveUp}, nil
}

// GiveBack gives the connection back, to be lent again.
func (s *Session) GiveBack() {
	_ = s.Close()
	s.giveUp()
}

// Discard closes the connection itself, so that the server ends the session and all that it holds.
func (s *Session) Discard() {
	_ = s.Raw(func(any) error { return driver.ErrBadConn })
	s.GiveBack()
}

// SessionStats returns how the pool of sessions is doing.
func (d *DB) SessionStats() sql.DBStats { return d.sessions.pool.Stats() }
