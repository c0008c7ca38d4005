package run

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// local is the environment of a run that starts everything itself. Every cell gets instances of its own, which are
// started while the cell before it runs. What a rung leaves behind in a process, such as a timer that nobody stopped,
// is gone with the process and reaches no other cell.
type local struct {
	cluster  *cluster.Cluster
	servers  *cluster.Backend
	stockapi string
	client   *client.Client
	janitor  *cluster.Instance // removes the products of cells that are over
	settings *Settings
}

// startLocal starts the servers that all cells share, and the janitor.
func (s *session) startLocal(ctx context.Context, c *cluster.Cluster) (*local, error) {
	path, which, err := c.Stockapi(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := c.StartBackend(ctx, path)
	if err != nil {
		return nil, err
	}
	servers.Stockapi = which
	janitor, err := c.StartInstance(ctx, path, "janitor", servers.Lasting(), false)
	if err != nil {
		return nil, err
	}
	return &local{
		cluster: c, servers: servers, stockapi: path, client: s.client, janitor: janitor,
		settings: &s.settings,
	}, nil
}

// clusterOptions returns the options of a cluster that has what the cells need.
func (s *Settings) clusterOptions(specs []catalog.Spec) cluster.Options {
	redlock, zookeeper, database := 0, false, false
	for _, spec := range specs {
		zookeeper = zookeeper || spec.Rung.OnZooKeeper()
		database = database || spec.Rung.OnSQL()
		if spec.Rung.OnNodes() {
			redlock = scenario.RedlockNodes
		}
	}
	return cluster.Options{
		Stockapi: s.Stockapi, Backend: s.Backend, Redlock: redlock,
		ZooKeeper: zookeeper, ZooKeeperAddress: s.ZooKeeper, Database: database, SQL: s.SQL,
		Token: s.AdminToken, Max: s.bounds(),
	}
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
	started := make([]*cluster.Instance, spec.Instances)
	all, ctx := errgroup.WithContext(ctx)
	for i := range started {
		all.Go(func() (err error) {
			started[i], err = l.cluster.StartInstance(ctx, l.stockapi, cluster.InstanceName(i), site.Backend(i), fault, flags...)
			return err
		})
	}
	err := all.Wait()
	return slices.DeleteFunc(started, func(in *cluster.Instance) bool { return in == nil }), err
}
