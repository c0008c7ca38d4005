package main

import (
	"fmt"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cluster"
)

// Reasons why a cell cannot be run with --targets.
const (
	needsOwnInstances = "needs instances of its own"
	needsTwoTargets   = "needs two targets"
)

// preflight returns an error, with a remedy, if none of the cells can be run with these flags, as far as that is known
// before any server is started.
func (f *runFlags) preflight(specs []catalog.Spec) error {
	lacks := func(spec catalog.Spec) string { return notOn(spec, len(f.Targets)) }
	if len(f.Targets) == 0 {
		options := f.clusterOptions(specs)
		if err := options.Check(); err != nil {
			return err
		}
		lacks = func(spec catalog.Spec) string { return string(options.Lacks(spec)) }
	}
	first := ""
	for _, spec := range specs {
		why := lacks(spec)
		if why == "" {
			return nil
		}
		if first == "" {
			first = why
		}
	}
	return fmt.Errorf("none of the cells can be run here: the first %s; %s", first, f.remedy(first))
}

// notOn returns why the cell cannot be run on that many running instances, or "".
func notOn(spec catalog.Spec, instances int) string {
	switch {
	case spec.Scenario.Fault():
		return needsOwnInstances
	case spec.Scenario.Instances == catalog.Several && instances < 2:
		return needsTwoTargets
	}
	return ""
}

// remedy returns what to do about a missing requirement.
func (f *runFlags) remedy(why string) string {
	switch why {
	case needsOwnInstances:
		return "leave out --targets, or choose --scenarios one-instance,two-instances"
	case needsTwoTargets:
		return "name two with --targets"
	case string(cluster.ErrNeedsRedisServer):
		if f.Backend != "auto" {
			return "use --backend redis-server, or choose other --scenarios"
		}
		return "install it, or choose other --scenarios"
	case string(cluster.ErrNeedsDatabase), string(cluster.ErrNeedsServer):
		return "use --sql with a server that is installed, or choose other --rungs"
	case string(cluster.ErrNeedsAnyZooKeeper):
		return "install Debian's package zookeeper, or name a server with --zookeeper"
	case string(cluster.ErrNeedsStop):
		return "use WSL, or choose other --scenarios"
	}
	return "choose other --rungs or --scenarios"
}
