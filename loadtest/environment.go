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

// An environment holds the servers and instances that cells run on: local ones, which the run starts, or remote ones,
// which it was given.
type environment interface {
	// prepare makes ready what a cell needs.
	prepare(ctx context.Context, spec catalog.Spec) cellEnvironment
	// backend says what is driven, for the header.
	backend() history.Backend
	// clear removes the product from the backend, after the cell's instances are gone.
	clear(ctx context.Context, product string) error
}

// A cellEnvironment holds the instances of one cell and their servers.
type cellEnvironment struct {
	urls []string
	// targets holds what faults act on, nil if the environment is remote.
	targets *scenario.FaultTargets
	// notRun says why the cell cannot be run here; empty if it can.
	notRun string
	err    error
	close  func()
}

// local is the environment of a run that starts everything itself. Every cell gets instances of its own, which are
// started while the cell before it runs. What a rung leaves behind in a process, such as a timer that nobody stopped,
// is gone with the process and reaches no other cell.
type local struct {
	cluster *cluster.Cluster
	servers *cluster.Backend
	client  *client.Client
	janitor *cluster.Instance // removes the products of cells that are over
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

// prepare starts what one cell needs: first the servers, then the instances.
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
		end = cluster.Kill // they may be stopped, or at work that does not end
	}
	env.close = func() {
		end(instances)
		site.Close()
	}
	return env
}

// instances starts them side by side, and returns those that got ready.
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

// remote is the environment of a run that was given instances: all cells run on the same ones.
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
