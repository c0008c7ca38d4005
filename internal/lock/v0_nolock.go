package lock

import (
	"context"
)

// noLock is v0: it keeps nobody out. Two requests read the same stock, both decide that there is enough, both write.
func noLock(runtime) TryLock {
	return func(ctx context.Context, _ string, _ Options) (*Lease, error) {
		return &Lease{Context: ctx}, nil
	}
}
