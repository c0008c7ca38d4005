package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/fleet"
	"stockapi/loadtest/history"
	"stockapi/loadtest/join"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/shop"
)

// ground is where cells take place: on instances of our own, or on somebody else's.
type ground interface {
	// prepare makes ready, in the background, what a cell needs.
	prepare(ctx context.Context, spec catalog.Spec) <-chan stage
	// backend says what is driven, for the header.
	backend() history.Backend
	// clear removes the product from the backend, after the cell's instances are gone.
	clear(ctx context.Context, product string) error
}

// stage is the instances of one cell, and what is around them.
type stage struct {
	urls []string
	// targets is what faults can be brought upon, where it is ours.
	targets *scenario.FaultTargets
	// notRun says why the cell cannot take place here, if it cannot.
	notRun string
	err    error
	leave  func()
}

// own is the ground of a run that starts everything itself. Every cell gets instances of its own, started while
// the cell before it runs: what a rung leaves behind in a process, such as a timer that nobody stopped, is gone
// with the process and reaches no other cell.
type own struct {
	fleet    *fleet.Fleet
	on       *fleet.Backend
	stockapi string
	client   *shop.Client
	janitor  *fleet.Instance // sweeps up after cells
	flags    *runFlags
	party    *join.Party // nil if there are no others
}

func newOwn(ctx context.Context, f *fleet.Fleet, client *shop.Client) (*own, error) {
	path, which, err := f.Stockapi(ctx)
	if err != nil {
		return nil, err
	}
	on, err := f.StartBackend(ctx, path)
	if err != nil {
		return nil, err
	}
	on.Stockapi = which
	janitor, err := f.StartInstance(ctx, path, "janitor", on.Lasting(), false)
	if err != nil {
		return nil, err
	}
	return &own{fleet: f, on: on, stockapi: path, client: client, janitor: janitor}, nil
}

func (g *own) backend() history.Backend { return g.on.Backend }

func (g *own) clear(ctx context.Context, product string) error {
	return g.client.Forget(ctx, g.janitor.URL, product)
}

func (g *own) prepare(ctx context.Context, spec catalog.Spec) <-chan stage {
	ready := make(chan stage, 1)
	notRun := ""
	switch {
	case spec.Scenario.Stops && !fleet.CanStop:
		notRun = "needs a system that can stop a process"
	case g.party != nil:
		notRun = unshared(g.flags, spec.Rung)
	}
	if notRun != "" {
		ready <- stage{notRun: notRun, leave: func() {}}
		return ready
	}
	go func() { ready <- g.set(ctx, spec) }()
	return ready
}

// set sets the stage: first the servers, then the instances.
func (g *own) set(ctx context.Context, spec catalog.Spec) stage {
	site, err := g.fleet.StartSite(ctx, g.on, planOf(spec))
	if err != nil {
		s := stage{leave: func() {}}
		var needs fleet.Needs
		if errors.As(err, &needs) {
			s.notRun = err.Error()
		} else {
			s.err = err
		}
		return s
	}
	instances, err := g.instances(ctx, spec, site)
	s := stage{err: err, targets: targetsOf(site, instances)}
	for _, in := range instances {
		s.urls = append(s.urls, in.URL)
	}
	end := fleet.Stop
	if spec.Scenario.Fault() {
		end = fleet.Kill // they may be stopped, or at work that does not end
	}
	s.leave = func() {
		end(instances)
		site.Close()
	}
	return s
}

// instances starts them side by side, and returns those that got ready.
func (g *own) instances(ctx context.Context, spec catalog.Spec, site *fleet.Site) ([]*fleet.Instance, error) {
	var flags []string
	if t := planOf(spec).ScaleTimeout(spec.Scenario.Timeout); t > 0 {
		flags = append(flags, "--redis-timeout", t.String(), "--sql-timeout", t.String())
	}
	if spec.Rung.OnZooKeeper() && spec.Scenario.Fault() {
		flags = append(flags, "--zookeeper-session", spec.Scenario.Lease().String()) // its locks have no TTL
	}
	started := make([]*fleet.Instance, spec.Instances)
	all, ctx := errgroup.WithContext(ctx)
	for i := range started {
		all.Go(func() (err error) {
			started[i], err = g.fleet.StartInstance(ctx, g.stockapi, g.instanceName(i), site.Backend(i), spec.Scenario.Fault(), flags...)
			return err
		})
	}
	err := all.Wait()
	return slices.DeleteFunc(started, func(in *fleet.Instance) bool { return in == nil }), err
}

// instanceName is a, b and so on; where others have instances too, p1.a and p1.b.
func (g *own) instanceName(i int) string {
	if g.party != nil {
		return g.party.Name() + "." + fleet.InstanceName(i)
	}
	return fleet.InstanceName(i)
}

func planOf(spec catalog.Spec) fleet.Plan {
	topology := spec.Scenario.Topology
	return fleet.Plan{
		Instances: spec.Instances, TimeoutFactor: spec.Patience(),
		Redlock: spec.Rung.OnNodes(), ZooKeeper: spec.Rung.OnZooKeeper(),
		SQL: spec.Rung.OnSQL(), Session: spec.Rung.OnSession(), Links: topology.Links,
		OwnLocks: topology.OwnLocks, ReplicatedLocks: topology.ReplicatedLocks, ReplicatedStock: topology.ReplicatedStock,
	}
}

// targetsOf shows the scenario what it may harm, in its own terms.
func targetsOf(site *fleet.Site, instances []*fleet.Instance) *scenario.FaultTargets {
	t := &scenario.FaultTargets{Servers: map[string]scenario.Server{}, Pairs: map[string]scenario.Pair{}, Behind: site.Behind()}
	for _, in := range instances {
		t.Processes = append(t.Processes, in)
	}
	for name, server := range site.Servers {
		t.Servers[name] = server
	}
	if site.ZooKeeper != nil {
		t.Servers["locks"] = site.ZooKeeper
	}
	if site.Database != nil {
		t.Servers["locks"] = site.Database
	}
	for name, pair := range site.Pairs {
		t.Pairs[name] = pair
	}
	for _, links := range site.Links {
		of := map[string]scenario.Link{}
		for name, link := range links {
			of[name] = link
		}
		t.Links = append(t.Links, of)
	}
	return t
}

// targets is the ground of a run that was given instances.
type targets struct {
	urls   []string
	client *shop.Client
}

func (g *targets) backend() history.Backend {
	return history.Backend{
		Kind: "targets", Text: "that of the targets; nothing was started here",
		Stockapi: "running already: " + strings.Join(g.urls, ", "),
	}
}

func (g *targets) clear(ctx context.Context, product string) error {
	return g.client.Forget(ctx, g.urls[0], product)
}

func (g *targets) prepare(_ context.Context, spec catalog.Spec) <-chan stage {
	ready := make(chan stage, 1)
	s := stage{leave: func() {}}
	switch {
	case spec.Scenario.Fault():
		s.notRun = "needs instances of its own"
	case spec.Scenario.Instances != catalog.Several:
		s.urls = g.urls[:1]
	case len(g.urls) < 2:
		s.notRun = "needs two targets"
	default:
		s.urls = g.urls
	}
	ready <- s
	return ready
}
