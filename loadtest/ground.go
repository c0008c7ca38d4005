package main

import (
	"context"
	"strings"

	"stockapi/loadtest/fleet"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/shop"
)

// ground is where cells take place: on instances of our own, or on somebody else's.
type ground interface {
	// prepare makes ready, in the background, what a cell needs.
	prepare(ctx context.Context, spec scenario.Spec) <-chan stage
	// backend says what is driven, for the header.
	backend() history.Backend
	// clear removes the product from the backend, after the cell's instances are gone.
	clear(ctx context.Context, product string) error
}

// stage is the instances of one cell.
type stage struct {
	urls []string
	// processes are those behind the urls, where they are ours.
	processes []scenario.Process
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
	janitor, err := f.StartInstance(ctx, path, "janitor", on, false)
	if err != nil {
		return nil, err
	}
	return &own{fleet: f, on: on, stockapi: path, client: client, janitor: janitor}, nil
}

func (g *own) backend() history.Backend { return g.on.Backend }

func (g *own) clear(ctx context.Context, product string) error {
	return g.client.Forget(ctx, g.janitor.URL, product)
}

func (g *own) prepare(ctx context.Context, spec scenario.Spec) <-chan stage {
	ready := make(chan stage, 1)
	if spec.Scenario.Stops && !fleet.CanStop {
		ready <- stage{notRun: "needs a system that can stop a process", leave: func() {}}
		return ready
	}
	go func() {
		var s stage
		var instances []*fleet.Instance
		for i := range spec.Instances {
			in, err := g.fleet.StartInstance(ctx, g.stockapi, fleet.InstanceName(i), g.on, spec.Scenario.Fault())
			if err != nil {
				s.err = err
				break
			}
			instances, s.urls = append(instances, in), append(s.urls, in.URL)
			s.processes = append(s.processes, in)
		}
		s.leave = func() { fleet.Stop(instances) }
		if spec.Scenario.Fault() {
			s.leave = func() { fleet.Kill(instances) } // they may be stopped, or at work that does not end
		}
		ready <- s
	}()
	return ready
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

func (g *targets) prepare(_ context.Context, spec scenario.Spec) <-chan stage {
	ready := make(chan stage, 1)
	s := stage{leave: func() {}}
	switch {
	case spec.Scenario.Fault():
		s.notRun = "needs instances of its own"
	case spec.Scenario.Instances != scenario.Several:
		s.urls = g.urls[:1]
	case len(g.urls) < 2:
		s.notRun = "needs two targets"
	default:
		s.urls = g.urls
	}
	ready <- s
	return ready
}
