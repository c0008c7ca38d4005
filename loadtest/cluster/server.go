package cluster

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A Server is one lock server that only one cell uses.
type Server interface {
	// Keys counts its keys. Queued counts the waiters in its queues.
	Keys(ctx context.Context) (int64, error)
	Queued(ctx context.Context) (int64, error)
	// Kill kills it. Restart restarts it at the same address, with the data that survives in that kind of server.
	Kill()
	Restart(ctx context.Context) error
	// Expire expires all keys with a TTL.
	Expire(ctx context.Context) error
}

// A server is the process of a server of the run.
type server struct {
	URL string
	*child
	// begin starts the process, and waits until it serves.
	begin func(ctx context.Context) (*child, error)
}

// Restart starts the server at its address, for the first time or after a kill: see [Server].
func (s *server) Restart(ctx context.Context) error {
	p, err := s.begin(ctx)
	if err == nil {
		s.child = p
	}
	return err
}

// StartAll starts n things concurrently, by number from 0, and returns those that became ready, and the first error.
func StartAll[T any](
	ctx context.Context, n int, start func(ctx context.Context, i int) (*T, error),
) ([]*T, error) {
	started := make([]*T, n)
	all, ctx := errgroup.WithContext(ctx)
	for i := range started {
		all.Go(func() (err error) {
			started[i], err = start(ctx, i)
			return err
		})
	}
	err := all.Wait()
	return slices.DeleteFunc(started, func(one *T) bool { return one == nil }), err
}

// says is the readiness of a process with a known address: a line of its output contains the text.
func says(text string) readiness {
	return func(line string) (url string, ready bool) { return "", strings.Contains(line, text) }
}
