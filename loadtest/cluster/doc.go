// Package cluster starts and ends every process of a run: a Redis, five more for Redlock, ZooKeeper, a database, and
// the stockapi instances. It guarantees that they end with the run, however the run ends. A normal end stops them in
// order. After a panic, a second Ctrl-C or a SIGKILL the guardian kills them, a separate process that does nothing
// else.
//
// Reading order: cluster.go (what exists, and how it ends), child.go (one process), guardian.go, server.go (one that
// restarts), backend.go (where the stock and the locks are kept), redis.go, replicated.go, zookeeper.go, database*.go,
// preflight.go (what this machine lacks), site.go (the servers of one cell), link.go (a network path that can fail),
// instance.go (stockapi), find.go (which stockapi), foreign.go (any other service), literal.go (one with
// addresses in its code), package netns (its network), package
// family (its processes).
package cluster
