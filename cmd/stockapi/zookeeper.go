package main

import (
	"context"
	"fmt"
	"log/slog"

	"stockapi/internal/backend"
	"stockapi/internal/trace"
)

// openZooKeeper opens the session of v13 and v14. ZooKeeper need not answer: the client keeps trying, and the other
// rungs work without it.
func openZooKeeper(
	ctx context.Context, c *config, observer trace.Observer, log *slog.Logger,
) (*backend.ZooKeeper, error) {
	z, err := backend.OpenZooKeeper(c.ZooKeeper, backend.ZooKeeperOptions{Session: c.ZooKeeperSession,
		Timeout: c.RedisTimeout, Name: c.Instance, Hooks: []backend.ZooKeeperHook{observer.ZooKeeper(c.ZooKeeper)}})
	if err != nil {
		return nil, fmt.Errorf("--zookeeper: %w", err)
	}
	switch err := z.Ping(ctx); {
	case err != nil:
		log.Warn("no ZooKeeper answers: v13 and v14 say 503 until one does", "zookeeper", c.ZooKeeper, "err", err)
	case z.Session() < c.ZooKeeperSession:
		log.Warn("ZooKeeper grants a shorter session", "asked", c.ZooKeeperSession, "granted", z.Session())
	}
	return z, nil
}
