package cluster

import (
	"errors"

	"stockapi/loadtest/catalog"
)

// Needs is the reason why a cell cannot be run here. It reads "needs …".
type Needs string

func (n Needs) Error() string { return string(n) }

// Why a cell cannot be run on this machine.
const (
	ErrNeedsStop         = Needs("needs a system that can stop a process")
	ErrNeedsRedisServer  = Needs("needs redis-server")
	ErrNeedsAnyZooKeeper = Needs("needs ZooKeeper")
	ErrNeedsZooKeeper    = Needs("needs a zookeeper of its own (Debian's package zookeeper)")
	ErrNeedsDatabase     = Needs("needs MariaDB or PostgreSQL")
	ErrNeedsServer       = Needs("needs MariaDB or PostgreSQL: a lock in a file has no server, and no link to one")
	ErrNeedsOwnDatabase  = Needs("needs a database server of its own: --sql mariadb or --sql postgres")
)

var errNoRedisServer = errors.New("there is no redis-server on PATH, nor a valkey-server: install one, or use " +
	"--backend embedded")

// Check returns an error if a server that the options name is not installed. No server is started yet.
func (o *Options) Check() error {
	if _, err := redisProgram(); o.Backend == "redis-server" && err != nil {
		return errNoRedisServer
	}
	if !o.Database {
		return nil
	}
	_, _, err := chooseDatabase(o.SQL)
	return err
}

// Lacks returns why the cell cannot be run with these options, as far as known before any server is started; "" if
// there is no known reason.
func (o *Options) Lacks(spec catalog.Spec) Needs {
	t := spec.Scenario.Topology
	switch {
	case spec.Scenario.Stops && !CanStop:
		return ErrNeedsStop
	case t.Replicated() && !o.ownRedisServer():
		return ErrNeedsRedisServer
	case spec.Rung.OnZooKeeper():
		return o.lacksZooKeeper(t)
	case spec.Rung.OnSQL():
		return o.lacksDatabase(t, spec.Rung)
	}
	return ""
}

// ownRedisServer reports whether the run starts a redis-server.
func (o *Options) ownRedisServer() bool {
	_, err := redisProgram()
	return err == nil && (o.Backend == "auto" || o.Backend == "redis-server")
}

func (o *Options) lacksZooKeeper(t catalog.Topology) Needs {
	switch {
	case zooKeeperMissing() == "":
		return ""
	case t.Ensemble || t.OwnLocks:
		return ErrNeedsZooKeeper
	case o.ZooKeeperAddress == "":
		return ErrNeedsAnyZooKeeper
	}
	return ""
}

func (o *Options) lacksDatabase(t catalog.Topology, rung catalog.Rung) Needs {
	kind, _, err := chooseDatabase(o.SQL)
	inFile := isFile(o.SQL) || o.SQL == SQLite || o.SQL == AnySQL && kind == nil
	switch {
	case err != nil || kind != nil:
		return ""
	case rung.OnSession() && inFile:
		return ErrNeedsDatabase
	case inFile && (t.Links || t.OwnLocks):
		return ErrNeedsServer
	case !inFile && t.OwnLocks:
		return ErrNeedsOwnDatabase
	}
	return ""
}
