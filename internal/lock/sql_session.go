package lock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"stockapi/internal/backend/sqldb"
)

// sessionSQL is what is said to a server about a lock of its own. MySQL's names may have 64 characters, and PostgreSQL's
// are numbers of 64 bits: both are made of the key by a hash.
type sessionSQL struct {
	acquire, release string // return 1 when it was done
	holder           string // returns the id of the session that holds the lock
	end              string // ends the session of that id
}

var sessionStatements = map[sqldb.Kind]sessionSQL{
	sqldb.MySQL: {
		acquire: `SELECT COALESCE(GET_LOCK(SHA2(?, 256), 0), 0)`,
		release: `SELECT COALESCE(RELEASE_LOCK(SHA2(?, 256)), 0)`,
		holder:  `SELECT IS_USED_LOCK(SHA2(?, 256)) FROM DUAL WHERE IS_USED_LOCK(SHA2(?, 256)) IS NOT NULL`,
		end:     `KILL %d`,
	},
	sqldb.PostgreSQL: {
		acquire: `SELECT CAST(pg_try_advisory_lock(hashtextextended($1, 0)) AS INT)`,
		release: `SELECT CAST(pg_advisory_unlock(hashtextextended($1, 0)) AS INT)`,
		holder: `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND ((CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)) = hashtextextended($1, 0) AND $1 = $2`,
		end: `SELECT pg_terminate_backend(%d)`,
	},
}

// session is a connection that is ours alone until it is given back or discarded.
type session struct {
	*sqldb.Session
	db *sqldb.DB
}

// openSession takes a connection. Where others have all of them, it is as if they had the lock: the next attempt may
// find one.
func openSession(ctx context.Context, db *sqldb.DB) (*session, error) {
	s, err := db.Session(ctx)
	if errors.Is(err, sqldb.ErrSessionsTaken) {
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if err != nil {
		return nil, err
	}
	return &session{s, db}, nil
}

// ask sends a statement about the lock called key over this connection, and returns the number that it answers.
func (s *session) ask(ctx context.Context, name, key, query string) (int64, error) {
	return s.db.Statement(ctx, name, key, func(ctx context.Context) (n int64, err error) {
		err = s.QueryRowContext(ctx, query, key).Scan(&n)
		return n, err
	})
}

// acquire takes the lock if it is free, and returns whether it did.
func (s *session) acquire(ctx context.Context, key string) (bool, error) {
	n, err := s.ask(ctx, "acquire", key, sessionStatements[s.db.Kind].acquire)
	return n == 1, err
}

// release gives the lock back and then the connection, and returns ErrLost if the lock was lost with its connection. A
// connection of which nobody knows what it holds does not go back to the pool, where the next one would be given it.
func (s *session) release(ctx context.Context, key string) error {
	n, err := s.ask(ctx, "release", key, sessionStatements[s.db.Kind].release)
	switch {
	case err == nil && n == 1:
		s.GiveBack()
		return nil
	case err == nil || !errors.Is(err, context.DeadlineExceeded):
		s.Discard()
		return ErrLost
	}
	s.Discard()
	return fmt.Errorf("release: %w", err)
}

// alive returns nil if the connection is.
func (s *session) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.db.Timeout)
	defer cancel()
	return s.PingContext(ctx)
}

// lookInterval is how often a holder looks whether its connection is still there, unless its TTL asks for more.
const lookInterval = 200 * time.Millisecond

// watch looks after the connection of a lock. It returns the context to work under, which ends with the cause ErrLost
// when the connection has, and a stop that ends the watching and waits for a look under way. A process that ends takes
// its connections along.
func (b Backends) watch(ctx context.Context, every time.Duration, s *session) (context.Context, func()) {
	work, lose := context.WithCancelCause(ctx)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(b.Life, func() {
		stop()
		s.Discard()
	})
	var running sync.WaitGroup
	b.Background.Add(1)
	running.Go(func() {
		defer b.Background.Done()
		for sleepUntil(run, time.Now().Add(every)) {
			// Not under run: to end a look under way would end the connection, and the lock of who is about to release
			// it.
			if err := s.alive(context.WithoutCancel(run)); err != nil && run.Err() == nil {
				lose(ErrLost)
				return
			}
		}
	})
	return work, func() {
		unhook()
		stop()
		running.Wait()
		lose(context.Canceled)
	}
}

// breakSession ends the session that holds the lock, and returns how many that were.
func breakSession(ctx context.Context, db *sqldb.DB, key string) (int64, error) {
	statements, isServer := sessionStatements[db.Kind]
	if !isServer {
		return 0, nil
	}
	return db.Statement(ctx, "break", key, func(ctx context.Context) (int64, error) {
		var id int64
		err := db.QueryRowContext(ctx, statements.holder, key, key).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		if err == nil {
			_, err = db.ExecContext(ctx, fmt.Sprintf(statements.end, id))
		}
		if err != nil {
			return 0, err
		}
		return 1, nil
	})
}
