package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"stockapi/internal/backend/sqldb"
)

// The locks are rows of one table. A row is free when it has expired by the clock of the database; the instances'
// clocks do not count. A release makes the row expire and keeps it: if rows came and went, their waiters would deadlock
// in InnoDB, and the database could choose the release as the victim. Expired rows are swept later.
const (
	createTable = `CREATE TABLE IF NOT EXISTS stockapi_locks (
		name VARCHAR(255) %s PRIMARY KEY, owner VARCHAR(64) NOT NULL, holds INT NOT NULL, expires BIGINT NOT NULL)`

	// acquireRow inserts the row, takes it over if it has expired, or counts one more acquire of the same owner. It is one
	// statement, which the database carries out for one client after the other. It changes no row if another owner holds
	// the lock. NOT EXISTS decides nothing: it only keeps the many tries that fail from locking the row. In PostgreSQL
	// such a row lock is a write to the disk, and the holder's release would wait for it.
	acquireRow = `INSERT INTO stockapi_locks AS l (name, owner, holds, expires)
		SELECT CAST(?1 AS VARCHAR(255)), CAST(?2 AS VARCHAR(255)), 1, NOW + ?3
		WHERE NOT EXISTS (SELECT 1 FROM stockapi_locks WHERE name = ?1 AND owner <> ?2 AND expires > NOW)
		ON CONFLICT (name) DO UPDATE SET
			holds = CASE WHEN l.owner = excluded.owner AND l.expires > NOW THEN l.holds + 1 ELSE 1 END,
			owner = excluded.owner,
			expires = CASE WHEN l.expires > excluded.expires THEN l.expires ELSE excluded.expires END
		WHERE l.expires <= NOW OR l.owner = excluded.owner`

	// acquireRowMySQL does the same without a WHERE, which MySQL does not have here. MySQL assigns from left to right, and
	// a later expression sees the new values: holds and owner come first because they need the old expires.
	acquireRowMySQL = `INSERT INTO stockapi_locks (name, owner, holds, expires) VALUES (?1, ?2, 1, NOW + ?3)
		ON DUPLICATE KEY UPDATE
			holds = IF(expires <= NOW, 1, IF(owner = VALUES(owner), holds + 1, holds)),
			owner = IF(expires <= NOW, VALUES(owner), owner),
			expires = IF(owner = VALUES(owner), GREATEST(expires, VALUES(expires)), expires)`

	// renewRow always changes the row. MySQL counts the rows that changed, not the rows that it found: without a change, a
	// renewal in the same millisecond as the acquire would look like a lost lease.
	renewRow = `UPDATE stockapi_locks SET expires = CASE WHEN expires = NOW + ?1 THEN expires + 1 ELSE NOW + ?2 END
		WHERE name = ?3 AND owner = ?4 AND expires > NOW`
	// releaseRow sets the count, and does not subtract: a release that was lost may have left it too high.
	releaseRow = `UPDATE stockapi_locks SET expires = CASE WHEN ?1 = 0 THEN 0 ELSE expires END, holds = ?2
		WHERE name = ?3 AND owner = ?4 AND expires > NOW`
	// reacquireRow counts a nested acquire. It needs the owner's row, not yet expired: meanwhile another owner may have
	// held and released the lock, so an expired lease must not be revived.
	reacquireRow = `UPDATE stockapi_locks SET holds = holds + 1,
			expires = CASE WHEN expires > NOW + ?1 THEN expires ELSE NOW + ?2 END
		WHERE name = ?3 AND owner = ?4 AND expires > NOW`
	sweepRows = `DELETE FROM stockapi_locks WHERE expires <= NOW`
	removeRow = `DELETE FROM stockapi_locks WHERE name = ?1`
)

// databaseNow reads the clock of each kind of database, in milliseconds. MySQL's clock has the time when the statement
// began. A statement that had to wait finds too few rows expired, which errs on the side of the holder.
var databaseNow = map[sqldb.Kind]string{
	sqldb.SQLite:     `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
	sqldb.MySQL:      `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)`,
	sqldb.PostgreSQL: `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
}

// A table is the table of locks in a database. The first statement creates it, so that nothing is written to a database
// without locks.
type table struct {
	db     *sqldb.DB
	layout string      // the statement that creates it; empty: createTable
	exists atomic.Bool // once that is known
}

// ensure creates the table, unless it is known to exist.
func (t *table) ensure(ctx context.Context) error {
	if t.exists.Load() {
		return nil
	}
	collation := ""
	if t.db.Kind == sqldb.MySQL {
		collation = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" // otherwise a and A would be one product
	}
	query := fmt.Sprintf(cmp.Or(t.layout, createTable), collation)
	_, err := t.execWithRetry(ctx, "create", "", query)
	t.exists.Store(err == nil)
	return err
}

// errNoTable means that there is no table, so the statement was not sent.
var errNoTable = errors.New("create the table of locks")

// exec sends a statement in the database's dialect. It returns how many rows the statement changed.
func (t *table) exec(ctx context.Context, name, key, query string, args ...any) (int64, error) {
	if err := t.ensure(ctx); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoTable, err)
	}
	return t.execWithRetry(ctx, name, key, dialect(t.db.Kind, query), args...)
}

// contendedTries limits how often a statement is sent that the database aborts in favour of another.
const contendedTries = 5

// execWithRetry sends a statement, and again if the database aborted it, because then it has done nothing. An acquire
// is not repeated, since another caller is taking the row. A release must be: otherwise the lock stays for its TTL.
func (t *table) execWithRetry(ctx context.Context, name, key, query string, args ...any) (n int64, err error) {
	for range contendedTries {
		n, err = t.db.Exec(ctx, name, key, query, args...)
		again := name != "acquire" && sqldb.Contended(err) || name == "create" && sqldb.CreatedAtOnce(err)
		if !again {
			break
		}
	}
	return n, err
}

// dialect inserts the database's clock, and writes numbered parameters in the database's syntax.
func dialect(kind sqldb.Kind, query string) string {
	query = strings.ReplaceAll(query, "NOW", databaseNow[kind])
	if kind == sqldb.PostgreSQL {
		query = strings.ReplaceAll(query, "?", "$")
	}
	if kind == sqldb.MySQL { // it has no numbers: every parameter stands once, in order
		query = strings.NewReplacer("?1", "?", "?2", "?", "?3", "?", "?4", "?").Replace(query)
	}
	return query
}

// ownerWidth is the width of the owner column.
const ownerWidth = 64

// owner returns the name of a holder in its row: the instance, for operators, a slash, and a unique name. If the column
// is too narrow, the instance is truncated.
func (t *table) owner(name string) string {
	unique := "/" + name
	return t.db.Instance[:max(0, min(len(t.db.Instance), ownerWidth-len(unique)))] + unique
}

// acquire takes the lock if it is free or the owner holds it already, and returns whether it did.
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

// reacquire counts one more acquire of an owner that holds the lock, and returns [ErrLost] if the owner does not.
func (t *table) reacquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	rows, err := t.exec(ctx, "acquire", key, reacquireRow, ttl.Milliseconds(), ttl.Milliseconds(), key, owner)
	if err == nil && rows == 0 {
		return false, ErrLost
	}
	return err == nil, err
}

// renew gives the lock a new TTL, or returns false if the owner does not hold it any more.
func (t *table) renew(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	rows, err := t.exec(ctx, "renew", key, renewRow, ttl.Milliseconds(), ttl.Milliseconds(), key, owner)
	return rows > 0, err
}

// release releases the lock until the owner holds it left times, or returns ErrLost if the owner does not hold it.
func (t *table) release(ctx context.Context, key, owner string, left int) error {
	return releaseResult(t.exec(ctx, "release", key, releaseRow, left, left, key, owner))
}

// remove removes the lock even if it is held, and returns how many locks it removed. An expired row does not
// count.
func (t *table) remove(ctx context.Context, key string) (int64, error) {
	if _, err := t.exec(ctx, "sweep", "", sweepRows); err != nil {
		return 0, err
	}
	return t.exec(ctx, "remove", key, removeRow, key)
}

// sweepInterval is the time between two removals of expired rows.
const sweepInterval = time.Minute

// sweepRows removes expired rows at that interval until the process ends. No lock waits for it, because an acquire
// takes an expired row over. It also removes the rows of products that are no longer sold. It skips a database that was
// never used, and ignores errors: the next sweep tries again.
func (rt runtime) sweepRows(t *table) {
	rt.Background.Go(func() {
		for sleepUntil(rt.Life, time.Now().Add(sweepInterval)) {
			if t.exists.Load() {
				_, _ = t.exec(rt.Life, "sweep", "", sweepRows)
			}
		}
	})
}
