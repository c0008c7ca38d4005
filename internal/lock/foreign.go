package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrForeign says that Redis keeps something of another type where the rung keeps its lock, or what it has beside it:
// another program's lock, or a leftover. The rung cannot work until that is gone.
var ErrForeign = errors.New("the lock's key holds no lock of this rung")

// wrongType reports whether Redis refused a command because its key holds something of another type. It says so by the
// text alone, and where a script ran into it somewhere in the middle.
func wrongType(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGTYPE") }

// explained makes a rung say what lies in its way when Redis refuses a key for its type. To the rungs that take their
// lock by SET NX such a key is a lock like any other, and held: they say ErrBusy.
func explained(b Backends, r Rung, try TryLock) TryLock {
	return func(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
		lease, err := try(ctx, key, ttl)
		if wrongType(err) {
			return nil, b.foreign(ctx, r, key, err)
		}
		return notOurs(lease, err)
	}
}

// notOurs makes a lease's Unlock say ErrLost when something of another type lies in its place by then.
func notOurs(lease *Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	unlock := lease.Unlock
	lease.Unlock = func(ctx context.Context) error {
		if err := unlock(ctx); !wrongType(err) {
			return err
		}
		return ErrLost
	}
	return lease, nil
}

// foreign returns ErrForeign with the first key that holds what does not belong there, or why if there is none by now.
func (b Backends) foreign(ctx context.Context, r Rung, key string, why error) error {
	ctx, cancel := detach(ctx)
	defer cancel()
	for _, one := range []struct{ key, kept string }{
		{key, cmp.Or(r.Layout, "string")}, {queueOf(key), "list"}, {deadlinesOf(key), "zset"}, {marksOf(key), "zset"},
		{fenceOf(key), "string"},
	} {
		found, err := b.Redis.Type(ctx, one.key).Result()
		if err == nil && found != one.kept && found != "none" {
			return fmt.Errorf("%w: %s holds a %s, and should hold a %s", ErrForeign, one.key, found, one.kept)
		}
	}
	return why
}
