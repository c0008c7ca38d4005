package lock

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"stockapi/internal/backend/sqldb"
)

// The locks are rows of one table. A row is free when it has expired, by the clock of the database: the instances'
// clocks have no say. A release lets the row expire and leaves it there: a row that comes and goes would have its
// waiters deadlock in InnoDB, and the victim could be the release. What is left over is swept.
const (
	createTable = `CREATE TABLE IF NOT EXISTS stockapi_locks (
		name VARCHAR(255) %s PRIMARY KEY, owner VARCHAR(64) NOT NULL, holds INT NOT NULL, expires BIGINT NOT NULL)`

	// acquireRow inserts the row, or takes it over if it has expired, or counts one more hold of the same owner: one
	// statement, which the database carries out for one client after the other. It changes no row if another holds it.
	// That another holds it is looked up first, which decides nothing: it keeps a vain try, of which there are many,
	// from locking the row. In PostgreSQL that is a write to the disk, and the holder's release stands behind it.
	acquireRow = `INSERT INTO stockapi_locks AS l (name, owner, holds, expires)
		SELECT CAST(?1 AS VARCHAR(255)), CAST(?2 AS VARCHAR(255)), 1, NOW + ?3
		WHERE NOT EXISTS (SELECT 1 FROM stockapi_locks WHERE name = ?1 AND owner <> ?2 AND expires > NOW)
		ON CONFLICT (name) DO UPDATE SET
			holds = CASE WHEN l.owner = excluded.owner AND l.expires > NOW THEN l.holds + 1 ELSE 1 END,
			owner = excluded.owner,
			expires = CASE WHEN l.expires > excluded.expires THEN l.expires ELSE excluded.expires END
		WHERE l.expires <= NOW OR l.owner = excluded.owner`

	// acquireRowMySQL is the same without a WHERE, which MySQL has not. It assigns from left to right, and what stands
	// on the right has the new value already: holds and owner come first because they ask for the old expires.
	acquireRowMySQL = `INSERT INTO stockapi_locks (name, owner, holds, expires) VALUES (?1, ?2, 1, NOW + ?3)
		ON DUPLICATE KEY UPDATE
			holds = IF(expires <= NOW, 1, IF(owner = VALUES(owner), holds + 1, holds)),
			owner = IF(expires <= NOW, VALUES(owner), owner),
			expires = IF(owner = VALUES(owner), GREATEST(expires, VALUES(expires)), expires)`

	// renewRow changes the row in any case: MySQL counts the rows that changed and not those that were found, and a renewal
	// within the millisecond of the acquire would be told as a lost lease.
	renewRow = `UPDATE stockapi_locks SET expires = CASE WHEN expires = NOW + ?1 THEN expires + 1 ELSE NOW + ?2 END
		WHERE name = ?3 AND owner = ?4 AND expires > NOW`
	// releaseRow sets how many holds are left, however many a lost release has left there.
	releaseRow = `UPDATE stockapi_locks SET expires = CASE WHEN ?1 = 0 THEN 0 ELSE expires END, holds = ?2
		WHERE name = ?3 AND owner = ?4 AND expires > NOW`
	// againRow counts a hold inside of another. It needs the other's row: one that has expired may have been taken over
	// and left again meanwhile, and must not come back under it.
	againRow = `UPDATE stockapi_locks SET holds = holds + 1,
			expires = CASE WHEN expires > NOW + ?1 THEN expires ELSE NOW + ?2 END
		WHERE name = ?3 AND owner = ?4 AND expires > NOW`
	sweepRows = `DELETE FROM stockapi_locks WHERE expires <= NOW`
	removeRow = `DELETE FROM stockapi_locks WHERE name = ?1`
)

// databaseNow is the clock of each kind of database, in milliseconds. MySQL's is that of the statement's start: a
// statement that had to wait finds less expired than there is, which errs on the side of the holder.
var databaseNow = map[sqldb.Kind]string{
	sqldb.SQLite:     `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
	sqldb.MySQL:      `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)`,
	sqldb.PostgreSQL: `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
}

// table is the table of locks in a database, which has it from the first statement on: nothing is written to a database
// that nobody locks on.
type table struct {
	db    *sqldb.DB
	there atomic.Bool // once it is known to be
}

// ensure makes the table, unless it is known to be there.
func (t *table) ensure(ctx context.Context) error {
	if t.there.Load() {
		return nil
	}
	collation := ""
	if t.db.Kind == sqldb.MySQL {
		collation = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" // else a and A were one product
	}
	query := fmt.Sprintf(createTable, collation)
	_, err := t.settle(ctx, "create", "", query)
	t.there.Store(err == nil)
	return err
}

// exec sends a statement in the database's dialect, and returns how many rows it changed.
func (t *table) exec(ctx context.Context, name, key, query string, args ...any) (int64, error) {
	if err := t.ensure(ctx); err != nil {
		return 0, fmt.Errorf("create the table of locks: %w", err)
	}
	return t.settle(ctx, name, key, dialect(t.db.Kind, query), args...)
}

// contendedTries is how often a statement is sent that the database gives up in favour of another.
const contendedTries = 5

// settle sends a statement, and again if the database gave it up: it has done nothing then. An acquire is not sent
// again, as somebody else is at the row; a release that is not sent again leaves the lock for its TTL.
func (t *table) settle(ctx context.Context, name, key, query string, args ...any) (n int64, err error) {
	for range contendedTries {
		n, err = t.db.Exec(ctx, name, key, query, args...)
		again := name != "acquire" && sqldb.Contended(err) || name == "create" && sqldb.CreatedAtOnce(err)
		if !again {
			break
		}
	}
	return n, err
}

// dialect puts in the database's clock, and writes numbered parameters as the database does.
func dialect(kind sqldb.Kind, query string) string {
	query = strings.ReplaceAll(query, "NOW", databaseNow[kind])
	if kind == sqldb.PostgreSQL {
		query = strings.ReplaceAll(query, "?", "$")
	}
	if kind == sqldb.MySQL { // it has no numbers: every parameter in its turn, once
		query = strings.NewReplacer("?1", "?", "?2", "?", "?3", "?", "?4", "?").Replace(query)
	}
	return query
}

// ownerWidth is what a row has room for.
const ownerWidth = 64

// owner returns the name of a holder in its row: the instance, for the operator who asks where to look, and behind the
// slash what no other holder has. What there is no room for is cut off the instance.
func (t *table) owner(name string) string {
	unique := "/" + name
	return t.db.Instance[:max(0, min(len(t.db.Instance), ownerWidth-len(unique)))] + unique
}

// acquire takes the lock if it is free or the owner's already, and returns whether it did.
func (t *table) acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	statement := acquireRow
	if t.db.Kind == sqldb.MySQL {
		statement = acquireRowMySQL
	}
	rows, err := t.exec(ctx, "acquire", key, statement, key, owner, ttl.Milliseconds())
	if err != nil && sqldb.Contended(err) {
		return false, nil
	}
	return rows > 0, err
}

// again counts one hold more of an owner that has the lock, and returns [ErrLost] if it has not.
func (t *table) again(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	rows, err := t.exec(ctx, "acquire", key, againRow, ttl.Milliseconds(), ttl.Milliseconds(), key, owner)
	if err == nil && rows == 0 {
		return false, ErrLost
	}
	return err == nil, err
}

// renew gives the lock a new TTL, and returns false if the owner does not hold it any more.
func (t *table) renew(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	rows, err := t.exec(ctx, "renew", key, renewRow, ttl.Milliseconds(), ttl.Milliseconds(), key, owner)
	return rows > 0, err
}

// release gives holds back until so many are left, with the last one the lock, and returns ErrLost if the owner did not
// hold it.
func (t *table) release(ctx context.Context, key, owner string, left int) error {
	return released(t.exec(ctx, "release", key, releaseRow, left, left, key, owner))
}

// remove removes the lock, whoever holds it, and returns how many locks that was: a row that has expired is none.
func (t *table) remove(ctx context.Context, key string) (int64, error) {
	if _, err := t.exec(ctx, "sweep", "", sweepRows); err != nil {
		return 0, err
	}
	return t.exec(ctx, "remove", key, removeRow, key)
}

// sweepInterval is how often rows that nobody needs any more are removed.
const sweepInterval = time.Minute

// sweepRows removes expired rows now and then, for as long as the process lives. No lock waits for it: whoever wants a lock
// takes an expired row over. It is for the rows of products that nobody sells any more. A database that is away, or was
// never used, is left alone until next time.
func (b Backends) sweepRows(t *table) {
	b.Background.Go(func() {
		for sleepUntil(b.Life, time.Now().Add(sweepInterval)) {
			if t.there.Load() {
				_, _ = t.exec(b.Life, "sweep", "", sweepRows)
			}
		}
	})
}
