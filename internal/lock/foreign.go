package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrForeign means that a key of the rung's lock has another type in Redis: it is another program's lock, or a
// leftover. The rung cannot work until that key is removed.
var ErrForeign = errors.New("the lock's key holds no lock of this rung")

// wrongType reports whether Redis refused a command because its key has another type. Only the text of the error shows
// that, and for a script the text does not begin with it.
func wrongType(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGTYPE") }

// detectForeign makes a rung return ErrForeign when Redis refuses a key because of its type. A rung that acquires
// by SET NX does not see the type: it takes such a key for a held lock, and returns ErrBusy.
func detectForeign(rt runtime, r Rung, try TryLock) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		lease, err := try(ctx, key, o)
		if wrongType(err) {
			return nil, rt.foreign(ctx, r, key, err)
		}
		return lease, err
	}
}

// foreign returns ErrForeign with the first key of another type, or why if there is none any more.
func (rt runtime) foreign(ctx context.Context, r Rung, key string, why error) error {
	ctx = detach(ctx)
	for _, one := range []struct{ key, kept string }{
		{key, cmp.Or(r.Layout, "string")}, {queueOf(key), "list"}, {deadlinesOf(key), "zset"}, {marksOf(key), "zset"},
		{fenceOf(key), "string"},
	} {
		found, err := rt.Redis.Type(ctx, one.key).Result()
		if err == nil && found != one.kept && found != "none" {
			return fmt.Errorf("%w: %s holds a %s, and should hold a %s", ErrForeign, one.key, found, one.kept)
		}
	}
	return why
}
