package run

import (
	"context"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
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
