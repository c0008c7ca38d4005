package main

import (
	"context"
	"fmt"
	"log/slog"

	"stockapi/internal/backend"
	"stockapi/internal/fault"
	"stockapi/internal/trace"
)

// openZooKeeper opens the session of v13 and v14. ZooKeeper need not answer: the client keeps trying, and the other
// rungs work without it.
func openZooKeeper(
	ctx context.Context, c *config, faults *fault.Injector, log *slog.Logger,
) (*backend.ZooKeeper, error) {
	o := backend.ZooKeeperOptions{Session: c.ZooKeeperSession, Timeout: c.RedisTimeout, Name: c.Instance}
	if faults != nil {
		o.Hooks = append(o.Hooks, faults.ZooKeeper)
	}
	o.Hooks = append(o.Hooks, trace.ZooKeeperHook(c.ZooKeeper))
	z, err := backend.OpenZooKeeper(c.ZooKeeper, o)
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
