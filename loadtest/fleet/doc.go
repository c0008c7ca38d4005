// Package fleet owns every process of a run: a Redis, five more for Redlock, ZooKeeper, a database, and the stockapi
// instances. Its one hard promise is that they end with the run, however that ends. An orderly end stops them in order;
// a panic, a second Ctrl-C or a SIGKILL leaves them to the guardian, a process of its own that waits for nothing else.
//
// Reading order: fleet.go (what exists, and its end), child.go (one process), guardian.go, backend.go (where stock and
// locks are kept), redis.go, zookeeper.go, database.go and what goes with it, site.go (what a cell has of its own),
// instance.go (stockapi), find.go (which stockapi).
package fleet
