package run

import (
	"context"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

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
