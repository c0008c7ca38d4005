package lock

import (
	"context"
	"time"

	"stockapi/internal/backend/sqldb"
)

// endNaive removes the rows of v12-naive that are older than a number of milliseconds.
const endNaive = `DELETE FROM stockapi_naive_locks WHERE taken <= NOW - ?1`

// EndNaiveLocks removes locks of v12-naive that are older than ttl, at once and then once a minute, until ctx ends. It
// is for a shared database: no server removes the row of a killed process. It creates no file and no table, and ignores
// errors: the next removal tries again.
func EndNaiveLocks(ctx context.Context, db *sqldb.DB, ttl time.Duration) {
	for ctx.Err() == nil {
		if !db.Unused() {
			_, _ = db.Exec(ctx, "sweep", "", dialect(db.Kind, endNaive), ttl.Milliseconds())
		}
		sleepUntil(ctx, time.Now().Add(sweepInterval))
	}
}
