package lock

import (
	"context"
	"fmt"

	"stockapi/internal/backend/sqldb"
)

// The table of v12-naive has a unique key, and nothing else that a lock needs. The time is for cleaning up: no acquire
// and no release reads it.
const (
	createNaive = `CREATE TABLE IF NOT EXISTS stockapi_naive_locks (
		name VARCHAR(255) %s PRIMARY KEY, taken BIGINT NOT NULL)`
	insertNaive      = `INSERT INTO stockapi_naive_locks (name, taken) VALUES (?1, NOW) ON CONFLICT DO NOTHING`
	insertNaiveMySQL = `INSERT INTO stockapi_naive_locks (name, taken) VALUES (?1, NOW)
		ON DUPLICATE KEY UPDATE name = name`
	deleteNaive = `DELETE FROM stockapi_naive_locks WHERE name = ?1`
)

// sqlNaive is v12-naive, an exhibit: the first lock that most people build in a database. The request that inserts the
// row holds the lock, and deletes the row to release it.
// Defect: the row never expires, so a crash locks the product for ever. It has no owner: a release deletes whatever row
// is there, and a holder does not get in again. A request that finds the row tries no second time unless it asks to
// wait. And the database is a single point of failure. v12 cures all but the last: an expiry, an owner and a count in
// the row, and a retry.
func sqlNaive(rt runtime) TryLock {
	rows := &table{db: rt.SQL, layout: createNaive}
	return func(ctx context.Context, key string, _ Options) (*Lease, error) {
		ok, err := rows.insert(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		if !ok {
			return nil, ErrBusy
		}
		unlock := func(ctx context.Context) error {
			_, err := rows.exec(ctx, "release", key, deleteNaive, key)
			return err
		}
		return &Lease{Context: ctx, Token: "1", unlock: unlock}, nil
	}
}

// insert inserts the row if there is none of that name, and returns whether it did.
func (t *table) insert(ctx context.Context, key string) (bool, error) {
	statement := insertNaive
	if t.db.Kind == sqldb.MySQL {
		statement = insertNaiveMySQL
	}
	rows, err := t.exec(ctx, "acquire", key, statement, key)
	if err != nil && sqldb.Contended(err) {
		return false, nil
	}
	return rows > 0, err
}
