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

// sessionSQL holds the statements for a server's own locks. MySQL names them by up to 64 characters, PostgreSQL by 64
// bits. A hash makes both from the key.
type sessionSQL struct {
	acquire, release string // return 1 on success
	holder           string // returns the id of the session that holds the lock
	end              string // ends the session with that id
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

// A session is a connection in exclusive use until it goes back to the pool or is discarded.
type session struct {
	*sqldb.Session
	db *sqldb.DB
}

// openSession takes a connection from the pool. If all are in use, it returns ErrBusy as if the lock were held, since
// the next attempt may find one.
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

// ask sends a statement about the lock called key over this connection, and returns the number in the answer.
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

// release releases the lock and returns the connection to the pool. It returns ErrLost if the lock was lost with its
// connection. If the outcome is indeterminate, the connection may still hold the lock. Then it is discarded, so that no
// other caller gets it from the pool.
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

// alive returns nil if the connection still works.
func (s *session) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.db.Timeout)
	defer cancel()
	return s.PingContext(ctx)
}

// pingInterval is the longest time between two checks of a holder's connection. A short TTL makes it shorter.
const pingInterval = 200 * time.Millisecond

// watchSession checks the connection of a lock at that interval. It returns the context to work under, which ends with
// the cause ErrLost when the connection is lost, and a stop that ends the checks and waits for one that is under way.
// When the process ends, the connection ends too.
func (rt runtime) watchSession(ctx context.Context, every time.Duration, s *session) (context.Context, func()) {
	work, lose := context.WithCancelCause(ctx)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(rt.Life, func() {
		stop()
		s.Discard()
	})
	var running sync.WaitGroup
	rt.Background.Add(1)
	running.Go(func() {
		defer rt.Background.Done()
		for sleepUntil(run, time.Now().Add(every)) {
			// Not under run: cancelling a check would end the connection, and with it the lock, just before its release.
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

// breakSession ends the session that holds the lock, and returns how many sessions it ended.
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
