package main

import (
	"context"
	"errors"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// An environment holds the servers and instances that cells run on: local ones, which the run starts, or remote ones.
type environment interface {
	// prepare starts the servers and instances of a cell.
	prepare(ctx context.Context, spec catalog.Spec) cellEnvironment
	// backend describes the servers, for the header.
	backend() history.Backend
	// clear removes the product from the backend, once the cell's instances are gone.
	clear(ctx context.Context, product string) error
}

// A cellEnvironment holds the instances of one cell and their servers.
type cellEnvironment struct {
	urls []string
	// targets holds the targets of faults, nil if the environment is remote.
	targets *scenario.FaultTargets
	// notRun is why the cell cannot be run here, or empty.
	notRun string
	err    error
	close  func()
}

// local is the environment of a run that starts its servers and instances. Each cell has instances of its own, which
// start while the cell before it runs: nothing that a rung leaves in a process, such as a running timer, reaches
// another cell.
type local struct {
	cluster *cluster.Cluster
	servers *cluster.Backend
	client  *client.Client
	janitor *cluster.Instance // removes the products of finished cells
}

// startLocal starts the servers that all cells share, and the janitor.
func (s *session) startLocal(ctx context.Context, c *cluster.Cluster) (*local, error) {
	if _, err := c.FindStockapi(ctx); err != nil {
		return nil, err
	}
	servers, err := c.StartBackend(ctx)
	if err != nil {
		return nil, err
	}
	janitor, err := c.StartInstance(ctx, "janitor", servers.Lasting(), false)
	if err != nil {
		return nil, err
	}
	return &local{cluster: c, servers: servers, client: s.client, janitor: janitor}, nil
}

func (l *local) backend() history.Backend { return l.servers.Backend }

func (l *local) clear(ctx context.Context, product string) error {
	return l.client.Forget(ctx, l.janitor.URL, product)
}

// prepare starts the servers of a cell, and then its instances.
func (l *local) prepare(ctx context.Context, spec catalog.Spec) cellEnvironment {
	site, err := l.cluster.StartSite(ctx, l.servers, spec)
	if err != nil {
		env := cellEnvironment{close: func() {}}
		var needs cluster.Needs
		if errors.As(err, &needs) {
			env.notRun = err.Error()
		} else {
			env.err = err
		}
		return env
	}
	instances, err := l.instances(ctx, spec, site)
	env := cellEnvironment{err: err, targets: &scenario.FaultTargets{
		Site: site, Processes: instances, Behind: site.Behind(),
	}}
	for _, in := range instances {
		env.urls = append(env.urls, in.URL)
	}
	end := cluster.Stop
	if spec.Scenario.Fault() {
		end = cluster.Kill // they may be stopped, or busy forever
	}
	env.close = func() {
		end(instances)
		site.Close()
	}
	return env
}

// instances starts the instances of a cell side by side, and returns those that became ready.
func (l *local) instances(ctx context.Context, spec catalog.Spec, site *cluster.Site) ([]*cluster.Instance, error) {
	fault := spec.Scenario.Fault()
	var flags []string
	if t := spec.Scenario.Timeout; t > 0 {
		flags = append(flags, "--redis-timeout", t.String(), "--sql-timeout", t.String())
	}
	if t := spec.Scenario.NodeTimeout; t > 0 {
		flags = append(flags, "--redlock-timeout", t.String())
	}
	if t := spec.Scenario.Retry; t > 0 {
		flags = append(flags, "--redlock-retry", t.String())
	}
	if spec.Rung.OnZooKeeper() && fault {
		flags = append(flags, "--zookeeper-session", spec.Scenario.SessionTimeout().String()) // its locks have no TTL
	}
	return cluster.StartAll(ctx, spec.Instances, func(ctx context.Context, i int) (*cluster.Instance, error) {
		return l.cluster.StartInstance(ctx, cluster.InstanceName(i), site.Backend(i), fault, flags...)
	})
}

// remote is the environment of a run with --targets: all cells run on the same instances.
type remote struct {
	urls   []string
	client *client.Client
}

func (r *remote) backend() history.Backend {
	return history.Backend{
		Kind: "targets", Text: "that of the targets; nothing was started here",
		Stockapi: "running already: " + strings.Join(r.urls, ", "),
	}
}

func (r *remote) clear(ctx context.Context, product string) error {
	return r.client.Forget(ctx, r.urls[0], product)
}

func (r *remote) prepare(_ context.Context, spec catalog.Spec) cellEnvironment {
	env := cellEnvironment{notRun: notOn(spec, len(r.urls)), urls: r.urls, close: func() {}}
	if spec.Scenario.Instances != catalog.Several {
		env.urls = r.urls[:1]
	}
	return env
}
